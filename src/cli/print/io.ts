import type { Readable, Writable } from "node:stream";
import { type Environment, systemEnvironment } from "../../environment/index.js";

/** A stream to print to. On a terminal it reports its width. */
export interface OutputStream extends Writable {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The signals that end a command. */
export type EndSignal = "SIGINT" | "SIGTERM";

/** Everything that a command uses of its process, so that tests can replace it. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** The folder against which relative locations and module paths are resolved. */
  readonly cwd: string;
  readonly environment: Environment;
  /** Environment variables, which supply flags that the user leaves out. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * The command line that starts this program in another process, executable first. Without it,
   * `--processes` is refused.
   */
  readonly self?: readonly string[] | undefined;
  /**
   * Sends a message to the supervisor. Undefined unless a supervisor started this process as one of
   * several workers.
   */
  readonly report?: ((message: object) => void) | undefined;
  /**
   * Answers the supervisor's questions until the caller calls the returned function. Undefined
   * unless a supervisor started this process.
   */
  readonly answer?: ((answer: Answer) => () => void) | undefined;
  /**
   * Calls `listener` for each signal until the caller calls the returned function. Meanwhile the
   * signal does not end the process.
   */
  onSignal(listener: (signal: EndSignal) => void): () => void;
}

/** Answers one question of the supervisor. */
export type Answer = (question: unknown) => Promise<object>;

/** A question from the supervisor to a worker process. The answer has the same number. */
export interface Question {
  readonly ask: number;
  readonly question: unknown;
}

export interface Answered {
  readonly answered: number;
  readonly answer?: object | undefined;
  readonly error?: string | undefined;
}

/** Environment variable that a supervisor sets for a worker process: the number of the process. */
export const processVariable = "PERCOLATOR_PROCESS";
/**
 * A supervisor that serves the dashboard also sets this environment variable. The workers then
 * record their transactions.
 */
export const recordVariable = "PERCOLATOR_RECORD";

/** Returns the `Io` of the real process. */
export function systemIo(): Io {
  const isSupervised = process.env[processVariable] !== undefined && process.send !== undefined;
  // A listener for the end of the supervisor must not keep a process alive that waits for nothing else.
  if (isSupervised) process.channel?.unref();
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
      // A worker whose supervisor is gone ends as if it had received SIGTERM.
      const onGone = () => listener("SIGTERM");
      process.on("SIGINT", listener).on("SIGTERM", listener);
      if (isSupervised) process.on("disconnect", onGone);
      // The supervisor may have ended while this program was loading.
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
  // If the send fails, the supervisor is gone, and the `disconnect` listener handles that.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
