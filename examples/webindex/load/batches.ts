import type { Gone, Page, Unchanged } from "../sources/index.js";

/** Pages of one transaction: at most so many, or when they have so many bytes. */
export const batchPages = 32;
const batchBytes = 512 * 1024;
/** Transactions under way at a time. */
const batchesInFlight = 4;

export type Loadable = Page | Unchanged | Gone;

/**
 * Gathers what a source brings into batches, some of which are written at a time, each by a
 * transaction.
 */
export class Batches {
  readonly #write: (items: readonly Loadable[]) => Promise<void>;
  readonly #onSent: (() => Promise<void> | undefined) | undefined;
  readonly #inFlight = new Set<Promise<void>>();
  /**
   * URLs of the batches under way: a page that comes twice is not loaded twice at the same time.
   */
  readonly #busy = new Set<string>();
  #batch: Loadable[] = [];
  #bytes = 0;
  #failure: { readonly error: unknown } | undefined;

  /** `onSent` is waited for after each batch that was begun. */
  constructor(
    write: (items: readonly Loadable[]) => Promise<void>,
    onSent?: () => Promise<void> | undefined,
  ) {
    this.#write = write;
    this.#onSent = onSent;
  }

  /** Waits while too much is under way, or while a page is under way that it needs. */
  async add(item: Loadable): Promise<void> {
    if (this.#busy.has(item.url) || (item.kind === "unchanged" && this.#busy.has(item.refersTo))) {
      await this.send();
      await this.settle();
    }
    this.#batch.push(item);
    this.#bytes += item.kind === "page" ? item.body.length : 0;
    if (this.#batch.length >= batchPages || this.#bytes >= batchBytes) await this.send();
  }

  /** Begins the transaction of what was gathered. Throws what an earlier one has failed with. */
  async send(): Promise<void> {
    this.throwFailure();
    if (this.#batch.length === 0) return;
    const items = this.#batch;
    [this.#batch, this.#bytes] = [[], 0];
    const urls = new Set(items.map(({ url }) => url));
    for (const url of urls) this.#busy.add(url);
    const done = this.#write(items)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        for (const url of urls) this.#busy.delete(url);
        this.#inFlight.delete(done);
      });
    this.#inFlight.add(done);
    if (this.#inFlight.size >= batchesInFlight) await Promise.race(this.#inFlight);
    await this.#onSent?.();
  }

  /** Resolves when nothing is under way, however it ended. */
  async settle(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
