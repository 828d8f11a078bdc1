import type { Gone, Page, Unchanged } from "../sources/index.js";

/** The limits of one transaction: this many pages, or this many bytes. */
export const batchPages = 32;
const batchBytes = 512 * 1024;
/** The most concurrent transactions. */
const batchesInFlight = 4;

export type Loadable = Page | Unchanged | Gone;

interface Pages {
  readonly written: ReadonlySet<string>;
  readonly read: ReadonlySet<string>;
}

/** The pages whose stored versions an item depends on. */
function readBy(item: Loadable): readonly string[] {
  return item.kind === "unchanged" ? [item.url, item.refersTo] : [item.url];
}

/**
 * Groups the items of a source into batches. Each batch is written by one transaction, and some
 * transactions run concurrently.
 */
export class Batches {
  readonly #write: (items: readonly Loadable[]) => Promise<void>;
  readonly #onSent: (() => Promise<void> | undefined) | undefined;
  /** The running transactions, with the pages that each writes and reads. */
  readonly #inFlight = new Map<Promise<void>, Pages>();
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
   * written, or one that the item writes is being read.
   */
  async add(item: Loadable): Promise<void> {
    const running = [...this.#inFlight.values()];
    if (
      running.some(({ written, read }) => read.has(item.url) || readBy(item).some((url) => written.has(url)))
    ) {
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
    const written = new Set(items.map(({ url }) => url));
    const read = new Set(items.flatMap(readBy));
    const done = this.#write(items)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#inFlight.delete(done);
      });
    this.#inFlight.set(done, { written, read });
    if (this.#inFlight.size >= batchesInFlight) await Promise.race(this.#inFlight.keys());
    await this.#onSent?.();
  }

  /** Resolves when no transaction is running, whether or not they succeeded. */
  async settle(): Promise<void> {
    await Promise.all(this.#inFlight.keys());
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
