import { open } from "node:fs/promises";
import { join } from "node:path";
import { RawDatabase } from "../harness/raw.js";
import { summarize } from "../harness/statistics.js";

const everyMs = 100;
const bytes = 4_096;

/**
 * Times raw flushes while something else runs. On this disk and under this load, a commit takes at
 * least this long after the previous one.
 */
export class FlushTimer {
  readonly #times: number[] = [];
  readonly #ended: Promise<void>;
  #stopped = false;

  private constructor(flush: () => Promise<void>, close: () => Promise<void>) {
    this.#ended = this.#run(flush).then(close);
  }

  /** Puts into LMDB and flushes. */
  static lmdb(folder: string): FlushTimer {
    const raw = new RawDatabase(folder);
    const table = raw.table("puts");
    const value = Buffer.alloc(bytes, 1);
    let number = 0;
    const flush = async () => {
      await raw.commit([{ table, key: Buffer.from(`${number++ % 1_000}`), value }]);
      await raw.root.flushed;
    };
    return new FlushTimer(flush, () => raw.close());
  }

  /** Appends a page to a file and flushes, like a server's log. */
  static async file(folder: string): Promise<FlushTimer> {
    const file = await open(join(folder, "log"), "w");
    const value = Buffer.alloc(bytes, 1);
    const flush = async () => {
      await file.write(value);
      await file.datasync();
    };
    return new FlushTimer(flush, () => file.close());
  }

  /** Returns the median in milliseconds. */
  async stop(): Promise<number> {
    this.#stopped = true;
    await this.#ended;
    return summarize(this.#times).median;
  }

  async #run(flush: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      const started = performance.now();
      await flush();
      this.#times.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}
