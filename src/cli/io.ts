import type { Readable, Writable } from "node:stream";
import { type Environment, systemEnvironment } from "../environment/index.js";

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
  /** Calls `listener` for each signal, in place of what the process would do, until the returned function is called. */
  onSignal(listener: (signal: EndSignal) => void): () => void;
}

/** What this process has. */
export function systemIo(): Io {
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    cwd: process.cwd(),
    environment: systemEnvironment,
    onSignal(listener) {
      process.on("SIGINT", listener).on("SIGTERM", listener);
      return () => process.off("SIGINT", listener).off("SIGTERM", listener);
    },
  };
}
