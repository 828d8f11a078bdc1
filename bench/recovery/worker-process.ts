import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** A worker, a process of its own. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<readonly [code: number | null, signal: string | null]>;
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
    this.#ended = once(this.#child, "exit") as Promise<[number | null, string | null]>;
    const lines = createInterface({ input: this.#child.stdout! });
    lines.on("line", (line) => {
      this.committed = Number(line);
    });
    this.started = Promise.race([
      once(lines, "line"),
      this.#ended.then(() => Promise.reject(new Error("A worker ended before it had begun."))),
    ]);
  }

  /** Ends it at once, as a failure of its machine would. Throws where it had ended by itself. */
  async kill(): Promise<void> {
    this.abandon();
    const [code, signal] = await this.#ended;
    if (signal !== "SIGKILL") throw new Error(`A worker ended by itself, with ${code ?? signal}.`);
  }

  /** Ends it at once, where nothing matters any more. Harmless where it has ended. */
  abandon(): void {
    this.#child.kill("SIGKILL");
  }

  /** Throws where it had ended by itself, or fails to end as it should. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const [code, signal] = await this.#ended;
    if (code !== 0) throw new Error(`A worker ended with ${code ?? signal}.`);
  }
}
