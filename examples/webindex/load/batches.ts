import type { Gone, Page, Unchanged } from "../sources/index.js";

/** The limits of one transaction: this many pages, or this many bytes. */
export const batchPages = 32;
const batchBytes = 512 * 1024;
/** The most concurrent transactions. */
const batchesInFlight = 4;

export type Loadable = Page | Unchanged | Gone;

/**
 * Groups the items of a source into batches. Each batch is written by one transaction, and some
 * transactions run concurrently.
 */
export class Batches {
  readonly #write: (items: readonly Loadable[]) => Promise<void>;
  readonly #onSent: (() => Promise<void> | undefined) | undefined;
  readonly #inFlight = new Set<Promise<void>>();
  /**
   * URLs in the running batches. If a page comes twice, it is not loaded twice at the same time.
   */
  readonly #busy = new Set<string>();
  #batch: Loadable[] = [];
  #bytes = 0;
  #failure: { readonly error: unknown } | undefined;

  /** After starting each batch, waits for `onSent`. */
  constructor(
    write: (items: readonly Loadable[]) => Promise<void>,
    onSent?: () => Promise<void> | undefined,
  ) {
    this.#write = write;
    this.#onSent = onSent;
  }

  /**
   * Waits while the transaction limit is reached, or while a page that the item needs is being
   * written.
   */
  async add(item: Loadable): Promise<void> {
    if (this.#busy.has(item.url) || (item.kind === "unchanged" && this.#busy.has(item.refersTo))) {
      await this.send();
      await this.settle();
    }
    this.#batch.push(item);
    this.#bytes += item.kind === "page" ? item.body.length : 0;
    if (this.#batch.length >= batchPages || this.#bytes >= batchBytes) await this.send();
  }

  /**
   * Starts the transaction of the current batch. If an earlier transaction failed, throws its
   * error.
   */
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

  /** Resolves when no transaction is running, whether or not they succeeded. */
  async settle(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
