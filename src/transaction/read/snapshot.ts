import { ClosedError } from "../../errors/index.js";
import { type Position, pages } from "../../store/index.js";
import type { CommittedRow } from "../cell/committed.js";
import { userColumns } from "../cell/user-columns.js";
import type { TransactionContext } from "../context.js";
import { SnapshotReader } from "./reader.js";
import { View } from "./view.js";

const rowsAtOnce = 250;

export interface SnapshotSettings {
  readonly signal?: AbortSignal | undefined;
}

/**
 * A read-only view of the database as of one timestamp. Holds collection back until it is closed, for the retention at most: then its
 * reads fail with a StaleSnapshotError.
 */
export class Snapshot extends View {
  /** What is seen: every commit at or below it. Microseconds since 1970, about. */
  readonly timestamp: number;
  readonly #reader: SnapshotReader;
  readonly #unregister: () => void;
  #closed = false;

  /** @internal */
  constructor(context: TransactionContext, timestamp: number, settings: SnapshotSettings = {}) {
    const reader = new SnapshotReader(context, timestamp, settings);
    super(context, reader, undefined, undefined);
    this.#reader = reader;
    this.timestamp = timestamp;
    this.#unregister = context.active.register(timestamp);
  }

  protected override assertReadable(): void {
    if (!this.#closed) return;
    throw new ClosedError(
      `The snapshot at ${this.timestamp} was closed: take a new one with \`db.snapshot()\`.`,
    );
  }

  /**
   * Every cell that users have in a table, in the order of rows and columns, as the store's bytes: for exports. Wide rows are
   * divided, so that what is held in memory is bounded. Each page's bytes are good until the next is asked for.
   * `limit`: rows of a page.
   *
   * @internal
   */
  async *cells(table: string, from?: Position, limit = rowsAtOnce): AsyncGenerator<readonly CommittedRow[]> {
    const read = (start?: Position) => {
      this.assertReadable();
      return this.#reader.range({ table, start, columns: userColumns, limit });
    };
    for await (const page of pages(read, from)) yield page.rows;
  }

  /** Ends the snapshot. Harmless to repeat. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unregister();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
