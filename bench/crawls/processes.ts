import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Counted } from "./counts.js";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const typescript = ["--import", "tsx"];

/** A process of the cluster. */
export class Member {
  readonly #child: ChildProcess;
  readonly #what: string;
  readonly #ended: Promise<unknown>;

  constructor(child: ChildProcess, what: string) {
    this.#child = child;
    this.#what = what;
    this.#ended = once(child, "exit");
  }

  /** Waits for something that it does; throws where it ends before. */
  async expect<T>(event: Promise<T>): Promise<T> {
    const ended = this.#ended.then(() => Promise.reject(new Error(`${this.#what} ended before its time.`)));
    return await Promise.race([event, ended]);
  }

  /** Ends it at once. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Ends it in good order; throws where it does not end so. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill("SIGTERM");
      await this.#ended;
    }
    const how = this.#child.signalCode ?? this.#child.exitCode;
    if (how !== 0) throw new Error(`${this.#what} ended with ${how}.`);
  }
}

/** Starts `percolator coordinator`; resolves when it leads. */
export async function startCoordinator(location: string): Promise<Member> {
  const args = [...typescript, at("../../src/cli/main.ts"), "coordinator", location, "--json"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const member = new Member(child, "The coordinator");
  const leads = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if ((JSON.parse(line) as { event: string }).event === "leading") resolve();
    });
  });
  await member.expect(leads);
  return member;
}

/** A worker of the web index. */
export class IndexWorker extends Member {
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, number: number) {
    super(child, `Worker ${number}`);
    this.#process = child;
  }

  /** Resolves when it has begun. */
  static async start(location: string, concurrency: number, number: number): Promise<IndexWorker> {
    const child = fork(at("./worker.ts"), [location, `${concurrency}`], { execArgv: typescript });
    const worker = new IndexWorker(child, number);
    await worker.expect(once(child, "message"));
    return worker;
  }

  /** What it has counted so far. */
  async counted(): Promise<Counted> {
    const answer = once(this.#process, "message");
    this.#process.send("count");
    const [counted] = await this.expect(answer);
    return counted as Counted;
  }
}
