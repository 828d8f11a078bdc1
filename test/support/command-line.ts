import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { onTestFinished, vi } from "vitest";
import { type EndSignal, type Io, type OutputStream, runCli } from "../../src/cli/index.js";
import { systemEnvironment } from "../../src/environment/index.js";

/** The result of a command line. */
export class Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;

  constructor(code: number, stdout: string, stderr: string) {
    this.code = code;
    this.stdout = stdout;
    this.stderr = stderr;
  }

  /** The lines of the standard output. */
  get lines(): readonly string[] {
    return this.stdout.split("\n").slice(0, -1);
  }

  /** The JSON documents of the standard output, one a line. */
  get documents(): readonly Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

/** Waits until `check` does not throw, for as long as a slow machine may need. */
export function eventually(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 60_000, interval: 5 });
}

/** A stream that keeps what was printed. */
export class Printed extends Writable implements OutputStream {
  text = "";
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;

  constructor(width?: number) {
    super({ decodeStrings: false });
    if (width === undefined) return;
    this.isTTY = true;
    this.columns = width;
  }

  override _write(chunk: string, _encoding: string, done: (error?: Error | null) => void): void {
    this.text += chunk;
    done();
  }
}

export interface CommandOptions {
  readonly stdin?: string | Uint8Array | Readable | undefined;
  readonly stdout?: OutputStream | undefined;
  readonly stderr?: OutputStream | undefined;
  /** Environment variables. Default: none. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A command line that runs in this process. */
export interface RunningCommand {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly outcome: Promise<Outcome>;
  signal(signal: EndSignal): void;
}

/** A temporary folder in which command lines run. It is removed after the test that made it. */
export class CommandLine {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<CommandLine> {
    const folder = await mkdtemp(join(tmpdir(), "percolator-cli-"));
    // A command that a second signal ended may still write for a moment.
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
    return new CommandLine(folder);
  }

  /** Starts a command line. */
  start(args: readonly string[], options: CommandOptions = {}): RunningCommand {
    const stdout = options.stdout ?? new Printed();
    const stderr = options.stderr ?? new Printed();
    const listeners = new Set<(signal: EndSignal) => void>();
    const io: Io = {
      stdin: stdinOf(options.stdin),
      stdout,
      stderr,
      cwd: this.folder,
      env: options.env,
      environment: systemEnvironment,
      onSignal(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const outcome = runCli(args, io).then((code) => new Outcome(code, textOf(stdout), textOf(stderr)));
    return {
      stdout,
      stderr,
      outcome,
      signal(signal) {
        for (const listener of listeners) listener(signal);
      },
    };
  }

  /** Runs a command line to its end. */
  run(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
    return this.start(args, options).outcome;
  }

  /** Writes a file into the folder and returns its path. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, text);
    return path;
  }
}

function stdinOf(given: CommandOptions["stdin"]): Readable {
  if (given instanceof Readable) return given;
  return given === undefined ? new PassThrough().end() : Readable.from([given]);
}

function textOf(stream: OutputStream): string {
  return stream instanceof Printed ? stream.text : "";
}
