import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Answer, Done, Order, Progress } from "./messages.js";

interface ChildOptions {
  readonly location: string;
  readonly number: number;
  readonly processes: number;
  readonly clients: number;
  readonly concurrency: number;
  readonly maxAhead: number;
  /** Flags of node's, such as for profiles. */
  readonly node: readonly string[];
}

/** A process with customers and a worker. */
export class Child {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<Answer["type"], (answer: Answer) => void>();
  readonly #ended: Promise<never>;
  /** Resolves when it has begun. */
  readonly ready: Promise<Answer>;
  progress: Progress = { orders: 0, settled: 0 };

  constructor(options: ChildOptions) {
    const { location, number, processes, clients, concurrency, maxAhead } = options;
    const script = fileURLToPath(new URL("process.ts", import.meta.url));
    const args = [location, number, processes, clients, concurrency, maxAhead].map(String);
    this.#process = fork(script, args, { execArgv: [...options.node, "--import", "tsx"] });
    this.#process.on("message", (answer: Answer) => this.#hear(answer));
    this.#ended = new Promise((_, reject) => {
      this.#process.once("exit", (code, signal) =>
        reject(new Error(`A process of the brokerage ended with ${code ?? signal}.`)),
      );
    });
    this.#ended.catch(() => undefined);
    this.ready = this.#expect("ready");
  }

  /** Resolves when its share of the transactions of customers is done. */
  async place(first: number, count: number): Promise<void> {
    const placed = this.#expect("placed");
    this.#send({ type: "run", first, count });
    await placed;
  }

  /** Resolves when nothing is due any more. */
  async finish(): Promise<Done> {
    const finished = this.#expect("finished");
    this.#send({ type: "finish" });
    return ((await finished) as Extract<Answer, { type: "finished" }>).done;
  }

  /** Tells it how far the others are. */
  tell(progress: Progress): void {
    if (this.#process.connected) this.#send({ type: "others", progress });
  }

  async end(): Promise<void> {
    const ended = this.#expect("ended");
    this.#send({ type: "end" });
    await ended;
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  #send(order: Order): void {
    this.#process.send(order);
  }

  #hear(answer: Answer): void {
    if (answer.type === "progress") this.progress = answer.progress;
    this.#waiting.get(answer.type)?.(answer);
  }

  #expect(type: Answer["type"]): Promise<Answer> {
    return Promise.race([new Promise<Answer>((resolve) => this.#waiting.set(type, resolve)), this.#ended]);
  }
}
