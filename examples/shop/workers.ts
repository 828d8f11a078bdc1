import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("worker.ts", import.meta.url));

/** Worker processes. One that ends is replaced, as a supervisor would. */
export class WorkerProcesses implements AsyncDisposable {
  readonly #location: string;
  readonly #say: (line: string) => void;
  readonly #children = new Set<ChildProcess>();
  #isStopping = false;

  constructor(location: string, count: number, say: (line: string) => void) {
    this.#location = location;
    this.#say = say;
    for (let n = 0; n < count; n++) this.#start();
  }

  #start(): void {
    const args = ["--import", "tsx", program, this.#location];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "inherit", "inherit"] });
    this.#children.add(child);
    this.#say(`Worker ${child.pid} follows.`);
    child.on("exit", (code, signal) => {
      this.#children.delete(child);
      if (this.#isStopping) return;
      this.#say(`Worker ${child.pid} ended (${signal ?? code}). Another one takes its place.`);
      this.#start();
    });
  }

  /** Stops all and waits for their end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    const children = [...this.#children];
    const ends = children.map((child) => once(child, "exit"));
    for (const child of children) child.kill("SIGTERM");
    await Promise.all(ends);
  }
}
