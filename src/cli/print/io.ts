import type { Readable, Writable } from "node:stream";
import { type Environment, systemEnvironment } from "../../environment/index.js";

/** A stream to print to; on a terminal it says so, and how wide it is. */
export interface OutputStream extends Writable {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The signals that end a command. */
export type EndSignal = "SIGINT" | "SIGTERM";

/** All that a command has of its process, so that tests can put something else in its place. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** What relative locations and modules are relative to. */
  readonly cwd: string;
  readonly environment: Environment;
  /** Variables that stand for flags. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The command line, executable first, that begins this program in another process. Default: it cannot be. */
  readonly self?: readonly string[] | undefined;
  /** Where this process is one of several workers: tells the one that started it how far it is. */
  readonly report?: ((message: object) => void) | undefined;
  /** The same: answers what that one asks, until the returned function is called. */
  readonly answer?: ((answer: Answer) => () => void) | undefined;
  /** Calls `listener` for each signal, in place of what the process would do, until the returned function is called. */
  onSignal(listener: (signal: EndSignal) => void): () => void;
}

/** What a process says to what it was asked. */
export type Answer = (question: unknown) => Promise<object>;

/** A question to a worker that another process started, and the answer: each with a number. */
export interface Question {
  readonly ask: number;
  readonly question: unknown;
}

export interface Answered {
  readonly answered: number;
  readonly answer?: object | undefined;
  readonly error?: string | undefined;
}

/** Set in a worker that another process of this program has started: its number. */
export const processVariable = "PERCOLATOR_PROCESS";
/** Set beside it where that process serves the dashboard of all: its workers record what they do. */
export const recordVariable = "PERCOLATOR_RECORD";

/** What this process has. */
export function systemIo(): Io {
  const isSupervised = process.env[processVariable] !== undefined && process.send !== undefined;
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    cwd: process.cwd(),
    environment: systemEnvironment,
    env: process.env,
    self:
      process.argv[1] === undefined ? undefined : [process.execPath, ...process.execArgv, process.argv[1]],
    report: isSupervised ? reportToParent : undefined,
    answer: isSupervised ? answerParent : undefined,
    onSignal(listener) {
      // Without the process that started it, a worker ends as if it had been told to.
      const onGone = () => listener("SIGTERM");
      process.on("SIGINT", listener).on("SIGTERM", listener);
      if (isSupervised) process.on("disconnect", onGone);
      // It may have ended while this program was loaded.
      if (isSupervised && !process.connected) process.nextTick(onGone);
      return () => process.off("SIGINT", listener).off("SIGTERM", listener).off("disconnect", onGone);
    },
  };
}

function answerParent(answer: Answer): () => void {
  const onMessage = (message: unknown) => {
    if (!isQuestion(message)) return;
    const { ask: answered, question } = message;
    answer(question).then(
      (found) => reportToParent({ answered, answer: found } satisfies Answered),
      (error: unknown) => reportToParent({ answered, error: String(error) } satisfies Answered),
    );
  };
  process.on("message", onMessage);
  return () => process.off("message", onMessage);
}

function isQuestion(message: unknown): message is Question {
  return typeof message === "object" && message !== null && "ask" in message;
}

function reportToParent(message: object): void {
  // Whoever does not listen any more is gone, and that is noticed elsewhere.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
