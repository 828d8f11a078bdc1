import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RequestMetrics } from "percolatordb";
import type { Action } from "./market.js";

export interface Counts extends Readonly<Record<Action, number>> {
  readonly runs: number;
  readonly commits: number;
  readonly conflicts: number;
  readonly requests: RequestMetrics;
}

/** A process with customers and a worker. */
export class Child {
  readonly #process: ChildProcess;
  readonly ready: Promise<unknown>;

  constructor(location: string, number: number, clients: number, concurrency: number) {
    const script = fileURLToPath(new URL("process.ts", import.meta.url));
    const args = [location, number, clients, concurrency].map(String);
    this.#process = fork(script, args, { execArgv: ["--import", "tsx"] });
    this.ready = this.#answer();
  }

  begin(): void {
    this.#process.send("begin");
  }

  async counts(): Promise<Counts> {
    const answer = this.#answer();
    this.#process.send("counts");
    return (await answer) as Counts;
  }

  async end(): Promise<void> {
    const ended = this.#answer();
    this.#process.send("end");
    await ended;
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async #answer(): Promise<unknown> {
    const ended = once(this.#process, "exit").then(([code]) => {
      throw new Error(`A process of the brokerage ended with code ${code}.`);
    });
    ended.catch(() => undefined);
    const [message] = (await Promise.race([once(this.#process, "message"), ended])) as [unknown];
    return message;
  }
}
