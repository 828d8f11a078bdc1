import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Answer } from "./serve.js";

/** A process that is asked for things: see `serve.ts`. */
export class Child {
  readonly #child: ChildProcess;
  readonly #what: string;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #asked = 0;

  constructor(script: URL, what: string) {
    this.#what = what;
    this.#child = fork(fileURLToPath(script), {
      execArgv: ["--import", "tsx"],
      serialization: "advanced",
    });
    this.#ended = once(this.#child, "exit");
    this.#child.on("message", (message) => {
      const answer = message as Answer;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    this.#child.once("exit", () => {
      for (const [id, tell] of this.#waiting) tell({ id, error: `${what} has ended` });
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** What the method of that name answers. Throws where it threw, and where the process has ended. */
  async ask<T = void>(method: string, argument?: unknown): Promise<T> {
    const id = ++this.#asked;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    if (this.#child.connected) this.#child.send({ id, method, argument });
    else this.#waiting.get(id)!({ id, error: `${this.#what} has ended` });
    const answer = await answered;
    if ("error" in answer) throw new Error(`${this.#what}, ${method}: ${answer.error}`);
    return answer.result as T;
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Has it close what it has open, and end; nothing where it has been killed. */
  async stop(): Promise<void> {
    if (this.#child.signalCode !== null) return;
    await this.ask("close");
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}
