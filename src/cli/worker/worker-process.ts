import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { type Environment, sleep } from "../../environment/index.js";
import { ClosedError, StoreError } from "../../errors/index.js";
import { exitCodes } from "../print/exit.js";
import type { Answered, EndSignal, Question } from "../print/io.js";
import { processVariable, recordVariable } from "../print/io.js";
import { noRuns, type WorkerReport } from "./worker-log.js";

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** The error if the process could not be started. */
  readonly error?: Error | undefined;
}

/** Whether a process ended as it should after a signal: after its runs, or by the signal before it listened to it. */
export function endedInOrder({ code, signal }: ProcessEnd, sent: EndSignal | undefined): boolean {
  return code === exitCodes.ok || (signal !== undefined && signal === sent);
}

/** Milliseconds to wait for the last output of a process that has ended. */
const printedMs = 1_000;

/**
 * Waits until a process has ended, and its output is printed. The wait for the output has a limit,
 * because a child of the ended process may keep the output open.
 */
export async function endOf(
  { ended }: WorkerProcess,
  printed: Promise<unknown>,
  environment: Environment,
): Promise<ProcessEnd> {
  // A failure to print is ignored: `Cli.signal` stops all processes if the output has no reader.
  const settled = printed.catch(() => undefined);
  const end = await ended;
  const late = new AbortController();
  const waited = sleep(environment, printedMs, late.signal).catch(() => undefined);
  await Promise.race([settled, waited]);
  late.abort();
  return end;
}

/** A worker process, as its supervisor sees it. */
export interface WorkerProcess {
  /** The output, line by line. The process is slowed down to the reader's speed. */
  readonly output: AsyncIterable<string>;
  readonly errors: AsyncIterable<string>;
  /** Resolves when the process has ended and all its output can be read. */
  readonly ended: Promise<ProcessEnd>;
  /** Count of runs by outcome, from the last report. */
  readonly runs: WorkerReport["runs"];
  /** Whether the process reported that it has nothing left to run. */
  readonly isObsolete: boolean;
  /** Whether the process has reported, so its command line and module were right when it started. */
  readonly hasStarted: boolean;
  /**
   * Asks the process a question. Rejects if the process ends, or if `signal` is aborted before the
   * answer.
   */
  ask(question: object, signal: AbortSignal): Promise<object>;
  kill(signal: EndSignal | "SIGKILL"): void;
}

export interface WorkerProcessOptions {
  /** The command line, executable first. */
  readonly args: readonly string[];
  /** Number of the process, from 1. */
  readonly number: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the process records its transactions for a dashboard. */
  readonly isRecorded: boolean;
}

/** Longest line to buffer, in characters. A longer line is split. */
const maxOfLine = 2 ** 20;

/**
 * Starts a worker process in its own process group. A signal from the terminal therefore reaches
 * the process once, through its supervisor. If the supervisor dies, the process ends by itself.
 */
export function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  const { args, number, cwd, env, isRecorded } = options;
  const [command, ...rest] = args;
  const child = spawn(command!, rest, {
    cwd,
    env: { ...env, [processVariable]: String(number), ...(isRecorded ? { [recordVariable]: "1" } : {}) },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
  return new Child(child);
}

class Child implements WorkerProcess {
  readonly output: AsyncIterable<string>;
  readonly errors: AsyncIterable<string>;
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, (answered: Answered) => void>();
  #questions = 0;
  #report: WorkerReport | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.output = linesOf(child.stdout!);
    this.errors = linesOf(child.stderr!);
    child.on("message", (message) => {
      if (isReport(message)) this.#report = message;
      else if (isAnswered(message)) this.#asked.get(message.answered)?.(message);
    });
    this.ended = new Promise((resolve) => {
      child.once("error", (error) => resolve({ code: undefined, signal: undefined, error }));
      child.once("exit", (code, signal) => {
        resolve({ code: code ?? undefined, signal: signal ?? undefined });
      });
    });
    void this.ended.then(() => {
      for (const [answered, settle] of this.#asked) settle({ answered, error: "the process has ended" });
    });
  }

  async ask(question: object, signal: AbortSignal): Promise<object> {
    if (!this.#child.connected || signal.aborted)
      throw new ClosedError("The worker process has ended, or the request was aborted.");
    const ask = ++this.#questions;
    const onAbort = () => this.#asked.get(ask)?.({ answered: ask, error: "the request was aborted" });
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const { answer, error } = await new Promise<Answered>((resolve) => {
        this.#asked.set(ask, resolve);
        this.#child.send({ ask, question } satisfies Question, (failure) => {
          if (failure) resolve({ answered: ask, error: failure.message });
        });
      });
      if (answer === undefined) throw new StoreError(`A worker process did not answer: ${error}.`);
      return answer;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#asked.delete(ask);
    }
  }

  get runs(): WorkerReport["runs"] {
    return this.#report?.runs ?? noRuns;
  }

  get isObsolete(): boolean {
    return this.#report?.isObsolete ?? false;
  }

  get hasStarted(): boolean {
    return this.#report !== undefined;
  }

  kill(signal: EndSignal | "SIGKILL"): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      // On Deno, `kill` of a child also closes its channel, and takes the child for ended.
      process.kill(pid, signal);
    } catch (error) {
      // It has ended, and the event follows.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

function isReport(message: unknown): message is WorkerReport {
  return typeof message === "object" && message !== null && "runs" in message;
}

function isAnswered(message: unknown): message is Answered {
  return typeof message === "object" && message !== null && "answered" in message;
}

/** Yields the lines of a stream. Yields the last one even if it has no line end. */
export async function* linesOf(stream: Readable): AsyncGenerator<string> {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const text of stream as AsyncIterable<string>) {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    for (const line of parts) yield line;
    for (; rest.length > maxOfLine; rest = rest.slice(maxOfLine)) yield rest.slice(0, maxOfLine);
  }
  if (rest !== "") yield rest;
}
