import type { Command } from "commander";
import type { Environment } from "../environment/index.js";
import { AbortedError } from "../errors/index.js";
import { exitCodes } from "./print/exit.js";
import type { EndSignal, Io } from "./print/io.js";
import { Output } from "./print/output.js";

/**
 * The context of one command: its output streams, its stop signal, and its exit code. `runCli`
 * creates it and each command receives it.
 */
export class Cli {
  readonly io: Io;
  readonly out: Output;
  readonly err: Output;
  /** Whether the user gave `--json`. */
  json = false;
  /**
   * Whether the command prints until it is told to end. If the reader of its output is gone, it then
   * ends without an error message.
   */
  isEndless = false;
  exitCode: number = exitCodes.ok;
  readonly #stopping = new AbortController();
  #endSignal: EndSignal | undefined;

  constructor(io: Io) {
    this.io = io;
    this.out = new Output("standard output", io.stdout, (reason) => this.#stopping.abort(reason));
    this.err = new Output("error stream", io.stderr);
  }

  get environment(): Environment {
    return this.io.environment;
  }

  /**
   * Aborted when the command must end: a process signal arrived, or the reader of the output is
   * gone.
   */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The signal that told the command to end. */
  get endSignal(): EndSignal | undefined {
    return this.#endSignal;
  }

  /** Tells the command to end. */
  end(signal: EndSignal): void {
    this.#endSignal ??= signal;
    this.#stopping.abort(new AbortedError(`The command was interrupted by ${signal}.`));
  }

  /**
   * Runs a command that works until a signal. If the signal arrives while the module still loads, the command
   * has ended in order too.
   */
  async untilSignal(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      if (this.#endSignal === undefined || error !== this.signal.reason) throw error;
    }
  }

  /** Prints lines for people, or the document as JSON if the user gave `--json`. */
  async print(document: unknown, lines: () => readonly string[]): Promise<void> {
    if (this.json) return this.out.json(document);
    for (const line of lines()) await this.out.line(line);
  }

  /**
   * Prints a remark on the error stream. With `--json` it prints nothing. If printing fails, the
   * command continues, and its exit code reports the failure at the end.
   */
  async note(text: string): Promise<void> {
    if (!this.json) await this.err.line(`note: ${text}`).catch(() => undefined);
  }

  /** Removes this command's listeners from the process's streams. */
  release(): void {
    this.out.release();
    this.err.release();
  }
}

/** Adds one command to the program. Each file in `commands/` exports one. */
export type AddCommand = (program: Command, cli: Cli) => void;
