import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** A worker, a process of its own. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /** Resolves when it has begun. */
  readonly started: Promise<unknown>;
  /** Runs that it has told of. */
  committed = 0;

  constructor(location: string, concurrency: number, workMs: number) {
    this.#child = spawn(
      process.execPath,
      ["--import", "tsx", script, location, `${concurrency}`, `${workMs}`],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    this.#ended = once(this.#child, "exit");
    const lines = createInterface({ input: this.#child.stdout! });
    lines.on("line", (line) => {
      this.committed = Number(line);
    });
    this.started = Promise.race([
      once(lines, "line"),
      this.#ended.then(() => Promise.reject(new Error("A worker ended before it had begun."))),
    ]);
  }

  /** Ends it at once, as a failure of its machine would. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }
}
