import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { summarize } from "../harness/statistics.js";

const everyMs = 100;
const bytes = 4_096;

/**
 * Times raw flushes while something else runs: of a page appended to a file, as to a server's log. On
 * this disk and under this load, a commit takes at least this long after the previous one.
 */
export class FlushTimer {
  readonly #times: number[] = [];
  readonly #ended: Promise<void>;
  #stopped = false;

  private constructor(file: FileHandle) {
    this.#ended = this.#run(file).finally(() => file.close());
  }

  static async start(folder: string): Promise<FlushTimer> {
    return new FlushTimer(await open(join(folder, "log"), "w"));
  }

  /** Returns the median in milliseconds. */
  async stop(): Promise<number> {
    this.#stopped = true;
    await this.#ended;
    return summarize(this.#times).median;
  }

  async #run(file: FileHandle): Promise<void> {
    const page = Buffer.alloc(bytes, 1);
    while (!this.#stopped) {
      const started = performance.now();
      await file.write(page);
      await file.datasync();
      this.#times.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}
