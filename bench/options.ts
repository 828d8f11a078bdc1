import { Command, InvalidArgumentError } from "commander";

/** What is asked for on the command line. */
export interface BenchOptions {
  /** Cases to run; empty for all. */
  readonly only: readonly string[];
  readonly quick: boolean;
  readonly cells: number;
  readonly rounds: number;
  /** Where to write the results; undefined: a file of its own in `bench/results`. */
  readonly json: string | undefined;
  /** Folder for the databases, removed afterwards; undefined: a temporary one. */
  readonly data: string | undefined;
  /** What the pipeline loads; undefined: the documentation of the packages in `node_modules`. */
  readonly source: string | undefined;
}

/** Defaults of a whole run, and of `--quick`. */
const sizes = { full: { cells: 100_000, rounds: 15 }, quick: { cells: 20_000, rounds: 5 } } as const;

interface Parsed {
  readonly only?: string[];
  readonly quick?: boolean;
  readonly cells?: number;
  readonly rounds?: number;
  readonly json?: string;
  readonly data?: string;
  readonly source?: string;
}

const examples = `
Examples:
  $ npm run bench
  $ npm run bench -- --quick --only reads --only scans
  $ npm run bench -- --cells 1000000 --rounds 31 --json results.json

The exit code is 1 where a case fails to run or gives a wrong result, 2 for wrong usage, else 0: no speed is an error.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(
  args: readonly string[],
  cases: readonly { readonly name: string; readonly about: string }[],
): BenchOptions {
  const names = cases.map(({ name }) => name);
  const command = new Command("bench")
    .description("Measures percolatordb against the same LMDB used directly, in the same run.")
    .option("--only <name>", `run this case only; may be repeated: ${names.join(", ")}`, caseName(names))
    .option("--quick", "fewer cells and rounds: a minute, and rougher figures")
    .option("--cells <n>", `cells per table (default: ${sizes.full.cells})`, wholeNumber(2_000))
    .option("--rounds <n>", `rounds of each measurement (default: ${sizes.full.rounds})`, wholeNumber(1))
    .option("--json <file>", "write the results here (default: a new file in bench/results)")
    .option(
      "--data <folder>",
      "where to make the databases, which are removed afterwards (default: a temporary folder)",
    )
    .option(
      "--source <path>",
      "web archive or folder for the pipeline (default: the documentation in node_modules)",
    )
    .addHelpText(
      "after",
      () => `\nCases:\n${cases.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join("\n")}`,
    )
    .addHelpText("after", examples)
    .allowExcessArguments(false)
    .exitOverride();
  const parsed = command.parse(args as string[], { from: "user" }).opts<Parsed>();
  const quick = parsed.quick ?? false;
  const size = quick ? sizes.quick : sizes.full;
  return {
    only: parsed.only ?? [],
    quick,
    cells: parsed.cells ?? size.cells,
    rounds: parsed.rounds ?? size.rounds,
    json: parsed.json,
    data: parsed.data,
    source: parsed.source,
  };
}

function caseName(cases: readonly string[]): (value: string, before: string[] | undefined) => string[] {
  return (value, before = []) => {
    if (cases.includes(value)) return [...before, value];
    throw new InvalidArgumentError(`Allowed are ${cases.join(", ")}.`);
  };
}

function wholeNumber(least: number): (value: string) => number {
  return (value) => {
    const parsed = Number(value);
    if (Number.isSafeInteger(parsed) && parsed >= least) return parsed;
    throw new InvalidArgumentError(`A whole number of at least ${least} is needed.`);
  };
}
