import type { CellAddress } from "./address.js";
import { systemCell } from "./system.js";

/** The rows of the records of bulk loads. They are part of the observer registry. */
export const loadRowPrefix = "registry/load/";

/** The state of a bulk load. `start` identifies the load. */
export function loadStateCell(start: number): CellAddress {
  return systemCell(`${loadRowPrefix}${start}`, "state");
}

/** The value of the state's cell from the load's publication on. It never changes again. */
export const publishedState = Buffer.from('"published"');

/**
 * The bulk loads that this process knows to be published. All cells of a load have one timestamp,
 * which the loader takes before it writes them. They count as committed when the load is published,
 * at a later timestamp. This class remembers that timestamp, so that a read of a loaded cell costs
 * one comparison.
 */
export class KnownLoads {
  /** Publication timestamps by the start timestamp of the load. */
  readonly #published = new Map<number, number>();
  #lastStart = -1;
  #lastPublished = Number.POSITIVE_INFINITY;

  /**
   * Whether a cell of the load is certainly visible at `at`. If not, the reader reads the load's
   * state.
   */
  isVisible(start: number, at: number): boolean {
    if (start !== this.#lastStart) {
      this.#lastPublished = this.#published.get(start) ?? Number.POSITIVE_INFINITY;
      this.#lastStart = start;
    }
    return this.#lastPublished <= at;
  }

  /** The timestamp at which the load was published. Undefined if this process does not know it. */
  publishedAt(start: number): number | undefined {
    return this.#published.get(start);
  }

  /** Remembers that a load was published. */
  add(start: number, publishedAt: number): void {
    this.#published.set(start, publishedAt);
    this.#lastStart = -1;
  }
}
