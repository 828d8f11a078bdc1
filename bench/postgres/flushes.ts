import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { summarize } from "../harness/statistics.js";

const everyMs = 100;
const bytes = 4_096;
const pages = 256;

/**
 * Times raw flushes while something else runs: of a page written over an older one, as in the recycled
 * segments of a server's log. On this disk and under this load, a commit takes at least this long after
 * the previous one. The file never grows: a file system's journal would then delay the flushes of what
 * is measured.
 */
export class FlushTimer {
  readonly #times: number[] = [];
  readonly #ended: Promise<void>;
  #stopped = false;

  private constructor(file: FileHandle) {
    this.#ended = this.#run(file).finally(() => file.close());
  }

  static async start(folder: string): Promise<FlushTimer> {
    const file = await open(join(folder, "log"), "w");
    await file.write(Buffer.alloc(pages * bytes, 1));
    await file.sync();
    return new FlushTimer(file);
  }

  /** Returns the median in milliseconds. */
  async stop(): Promise<number> {
    this.#stopped = true;
    await this.#ended;
    return summarize(this.#times).median;
  }

  async #run(file: FileHandle): Promise<void> {
    const page = Buffer.alloc(bytes, 1);
    for (let at = 0; !this.#stopped; at = (at + 1) % pages) {
      const started = performance.now();
      await file.write(page, 0, bytes, at * bytes);
      await file.datasync();
      this.#times.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}
