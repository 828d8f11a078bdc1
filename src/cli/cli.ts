import type { Command } from "commander";
import type { Environment } from "../environment/index.js";
import { AbortedError } from "../errors/index.js";
import { exitCodes } from "./print/exit.js";
import type { EndSignal, Io } from "./print/io.js";
import { Output } from "./print/output.js";

/** One run of the command line: where it prints, whether as JSON, when to end, and what it will answer. */
export class Cli {
  readonly io: Io;
  readonly out: Output;
  readonly err: Output;
  /** Whether `--json` was given. */
  json = false;
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

  /** Aborted when the command is to end: by a signal, or because nobody reads its output any more. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The signal that asked the command to end. */
  get endSignal(): EndSignal | undefined {
    return this.#endSignal;
  }

  /** Asks the command to end. */
  end(signal: EndSignal): void {
    this.#endSignal ??= signal;
    this.#stopping.abort(new AbortedError(`The command was interrupted by ${signal}.`));
  }

  /** Prints for people, or as a document for programs, by what was asked for. */
  async print(document: unknown, lines: () => readonly string[]): Promise<void> {
    if (this.json) return this.out.json(document);
    for (const line of lines()) await this.out.line(line);
  }

  /** Something worth knowing besides the data. Programs are not told. If it cannot be printed, the exit code says so in the end. */
  async note(text: string): Promise<void> {
    if (!this.json) await this.err.line(`note: ${text}`).catch(() => undefined);
  }

  /** Leaves the process's streams as they were. */
  release(): void {
    this.out.release();
    this.err.release();
  }
}

/** A command, added to the program. */
export type AddCommand = (program: Command, cli: Cli) => void;
