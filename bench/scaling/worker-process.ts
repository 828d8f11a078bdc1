import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Answer, Done, Order, WorkerOptions } from "./messages.js";

const script = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** A worker, a process of its own. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;
  /** Resolves when its code is compiled and its database open. */
  readonly ready: Promise<unknown>;

  /** `node`: flags of node's, such as for profiles. */
  constructor(options: WorkerOptions, node: readonly string[]) {
    this.#child = fork(script, [JSON.stringify(options)], { execArgv: [...node, "--import", "tsx"] });
    this.#ended = new Promise((_, reject) => {
      this.#child.once("exit", (code, signal) =>
        reject(new Error(`A worker ended before its time, with ${code ?? signal}.`)),
      );
    });
    this.#ended.catch(() => undefined);
    this.ready = this.#next();
  }

  /** Has it work; resolves when nothing is due any more. */
  async work(): Promise<Done> {
    const done = this.#next();
    this.#say("go");
    return (await done) as Done;
  }

  async end(): Promise<void> {
    const ended = this.#next();
    this.#say("end");
    await ended;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #say(order: Order): void {
    this.#child.send(order);
  }

  #next(): Promise<Answer> {
    const answer = new Promise<Answer>((resolve) => this.#child.once("message", resolve));
    return Promise.race([answer, this.#ended]);
  }
}
