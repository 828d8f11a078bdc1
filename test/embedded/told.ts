import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeArguments } from "../support/built/files.js";

const script = fileURLToPath(new URL("./told-child.ts", import.meta.url));

/** Longer than a commit takes on a busy machine, and shorter than the time limit of a test. */
const blockedMs = 1_000;
const clock = new Int32Array(new SharedArrayBuffer(4));

/** Another process that commits on demand. */
export class Committer {
  readonly #child;
  readonly #orders: number;
  readonly #answers: number;
  readonly #byte = Buffer.alloc(1);

  constructor(folder: string, pipes: string, commit: "one-phase" | "two-phase" = "one-phase") {
    const orders = join(pipes, "orders");
    const answers = join(pipes, "answers");
    execFileSync("mkfifo", [orders, answers]);
    const args = nodeArguments(script, [folder, orders, answers, commit]);
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    // Opened for both directions, so that opening does not block.
    this.#orders = openSync(orders, constants.O_RDWR);
    this.#answers = openSync(answers, constants.O_RDWR | constants.O_NONBLOCK);
  }

  /**
   * Waits for the child's answer, with turns of the event loop. The first answer means that the
   * database is open.
   */
  async answered(): Promise<void> {
    while (!this.#hasAnswered()) {
      if (this.#child.exitCode !== null) throw new Error("the committing process ended early");
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /**
   * Makes the child commit, and resolves when it has acknowledged the commit. At first this blocks
   * the event loop. If the answer takes long, the child may be waiting for LMDB's write lock, which
   * this process may hold until its next turn. So the wait then continues with turns of the event
   * loop.
   */
  async commit(): Promise<void> {
    writeSync(this.#orders, this.#byte);
    const end = performance.now() + blockedMs;
    while (performance.now() < end) {
      if (this.#hasAnswered()) return;
      Atomics.wait(clock, 0, 0, 0.2);
    }
    await this.answered();
  }

  /** Like {@link commit}, but always waits with turns of the event loop. */
  async commitMeanwhile(): Promise<void> {
    writeSync(this.#orders, this.#byte);
    await this.answered();
  }

  #hasAnswered(): boolean {
    try {
      return readSync(this.#answers, this.#byte, 0, 1, null) === 1;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
      throw error;
    }
  }

  async end(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    closeSync(this.#orders);
    closeSync(this.#answers);
    await exited;
  }
}
