import type { Observer } from "percolatordb";
import { ThreadPool, transferable } from "../../threads/thread-pool.js";
import type { Description } from "../derive.js";
import { extractBy } from "../observers/extract.js";
import type { PageTask } from "./describe-page.js";

export interface PageThreadsOptions {
  readonly threads: number;
  /** The module that each thread loads. Default: `describe-page.ts`. */
  readonly module?: URL | undefined;
  /** Receives the error of a thread that ended without a page. A new thread replaces it. */
  readonly onError: (error: Error) => void;
}

/** A thread that needs more memory for one page ends, and the page's run fails. */
const maxHeapMegabytes = 1_024;

/** Threads that read pages: their text, terms and links. They must be closed. */
export class PageThreads {
  /** The first observer. It reads each page on a thread. */
  readonly extract: Observer;
  readonly #pool: ThreadPool<PageTask, Description>;

  constructor({ threads, module, onError }: PageThreadsOptions) {
    this.#pool = new ThreadPool(module ?? new URL("./describe-page.ts", import.meta.url), {
      threads,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes },
      onError,
    });
    const { concurrency } = this.#pool;
    this.extract = extractBy((contents, url, { signal }) => this.#describe(contents, url, signal), {
      concurrency,
    });
  }

  #describe(contents: Uint8Array, url: string, signal: AbortSignal): Promise<Description> {
    const packed = transferable(contents);
    return this.#pool.run({ packed, url }, { signal, transfer: [packed.buffer] });
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
