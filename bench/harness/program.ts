import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { startEmulator } from "../../test/support/emulator/index.js";
import { describeMachine } from "./machine.js";

/** The options of every measurement. */
export interface CommonOptions {
  /** Where to write the result as JSON. */
  readonly json?: string | undefined;
  /** The folder for databases. Undefined: a temporary one. */
  readonly data?: string | undefined;
  /** The positional arguments, in order. */
  readonly args: readonly string[];
}

/** A measurement with its own command: `npm run NAME`. */
export interface Program<Options extends CommonOptions, Result> {
  readonly name: string;
  readonly about: string;
  /** Command lines, without `npm run`. */
  readonly examples: readonly string[];
  /** What makes the exit code 1. Follows "if" and "because". */
  readonly wrongIf: string;
  /** Adds the program's options and arguments to the common ones. */
  define(command: Command): Command;
  /**
   * Sets options that depend on others. Throws an `InvalidArgumentError` if options contradict each
   * other.
   */
  complete?(options: Options): Options;
  measure(options: Options): Promise<Result>;
  /** Formats the result as text and Markdown tables, as in docs/performance.md. */
  describe(result: Result): readonly string[];
  isRight(result: Result): boolean;
}

export const say = (line: string) => process.stdout.write(`${line}\n`);

/** Shows the current activity on a terminal, in a line that the next call replaces. */
export function sayProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line}`);
}

/** Parses options. Throws a `CommanderError` for wrong usage and for --help, after printing. */
export function parseOptions<Options extends CommonOptions, Result>(
  program: Program<Options, Result>,
  args: readonly string[],
): Options {
  const { name, about, examples, wrongIf } = program;
  const shown = examples.map((each) => `  $ npm run ${each}`).join("\n");
  const command = program
    .define(new Command(name).description(about))
    .option("--data <folder>", "where to make the databases (default: a temporary folder)")
    .option("--json <file>", "where to write the result")
    .addHelpText("after", `\nExamples:\n${shown}`)
    .addHelpText(
      "after",
      `\nThe exit code is 1 if ${wrongIf}, 2 for wrong usage, else 0: no speed is an error.`,
    )
    .allowExcessArguments(false)
    .exitOverride();
  command.parse([...args], { from: "user" });
  const options = { ...command.opts(), args: command.args } as unknown as Options;
  try {
    return program.complete?.(options) ?? options;
  } catch (error) {
    if (error instanceof InvalidArgumentError) command.error(`error: ${error.message}`);
    throw error;
  }
}

/**
 * Runs a program with this process's arguments: measures, prints the result and its configuration,
 * and sets the exit code.
 */
export async function runProgram<Options extends CommonOptions, Result>(
  program: Program<Options, Result>,
): Promise<void> {
  await exitWith(async () => {
    const options = parseOptions(program, process.argv.slice(2));
    const { json, data: _, ...shown } = options;
    const { percolatordb, lmdb, node, cores, cpu, memoryGiB, kernel } = describeMachine();
    say(`percolatordb ${percolatordb}, lmdb ${lmdb}, node ${node}, ${kernel}`);
    say(`${cores} of ${cpu}, ${memoryGiB} GiB of memory; ${JSON.stringify(shown)}`);
    const result = await program.measure(options);
    sayProgress("");
    for (const text of program.describe(result)) say(`\n${text}`);
    if (json !== undefined) {
      mkdirSync(dirname(json), { recursive: true });
      writeFileSync(json, `${JSON.stringify(result, undefined, 2)}\n`);
      say(`\nWritten to ${json}`);
    }
    if (program.isRight(result)) return 0;
    process.stderr.write(`The result is wrong, because ${program.wrongIf}.\n`);
    return 1;
  });
}

/**
 * Sets this process's exit code: 2 for wrong usage, 1 for a thrown error, otherwise the result of
 * `main`.
 */
export async function exitWith(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else {
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exitCode = 1;
    }
  }
}

/** Runs `use` with a new folder, and removes it afterwards. */
export async function withFolder<T>(
  name: string,
  use: (folder: string) => Promise<T>,
  within: string = tmpdir(),
): Promise<T> {
  const folder = mkdtempSync(join(within, `percolatordb-${name}-`));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs `use` with a Bigtable emulator: the one that `BIGTABLE_EMULATOR_HOST` names, or a new one with
 * this process.
 */
export async function withEmulator<T>(use: (pid: number | undefined) => Promise<T>): Promise<T> {
  if (process.env.BIGTABLE_EMULATOR_HOST !== undefined) return await use(undefined);
  await using emulator = await startEmulator();
  process.env.BIGTABLE_EMULATOR_HOST = emulator.host;
  return await use(emulator.pid);
}

export const secondsSince = (start: number): number => (performance.now() - start) / 1_000;

// Parsers for option values.

export const atLeast = (min: number) => (text: string) => {
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value) && value >= min) return value;
  throw new InvalidArgumentError(`A whole number of at least ${min} is needed.`);
};

export const whole = atLeast(1);

export const between = (min: number, max: number) => (text: string) => {
  const value = Number(text);
  if (text.trim() !== "" && value > min && value <= max) return value;
  throw new InvalidArgumentError(`A number above ${min} is needed, ${max} at the most.`);
};

export const oneOf =
  <T extends string>(names: readonly T[]) =>
  (text: string) => {
    const found = names.find((name) => name === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Allowed are ${names.join(", ")}.`);
  };

/** A list, separated by commas. */
export const list =
  <T>(of: (text: string) => T) =>
  (text: string) =>
    text.split(",").map(of);

/** An option that may be repeated. */
export const repeated =
  <T>(of: (text: string) => T) =>
  (text: string, before: readonly T[] = []) => [...before, of(text)];
