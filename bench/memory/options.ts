import { Command, InvalidArgumentError } from "commander";

export interface MemoryOptions {
  readonly seconds: number;
  /** Before the samples count: until caches are filled and what is kept for the retention is there. */
  readonly warmUp: number;
  readonly rows: number;
  /** Bytes of a value. */
  readonly bytes: number;
  /** Updates a second. */
  readonly rate: number;
  /** Seconds for which old versions are kept. */
  readonly retention: number;
  readonly data: string | undefined;
  readonly json: string | undefined;
}

const examples = `
Examples:
  $ npm run memory
  $ npm run memory -- --seconds 600 --rate 2000 --json memory.json

The exit code is 1 where an update is lost, an observer missed one or a check finds a problem, 2 for wrong usage, else 0: no amount of
memory is an error.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(args: readonly string[]): MemoryOptions {
  const command = new Command("memory")
    .description(
      "Memory of a process that keeps a database under constant updates, with an observer of them and collection running: sampled each second.",
    )
    .option("--seconds <number>", "seconds that are sampled", whole, 60)
    .option("--warm-up <number>", "seconds before them", whole, 15)
    .option("--rows <number>", "rows that are updated, in an order without end", whole, 10_000)
    .option("--bytes <number>", "bytes of a value", whole, 500)
    .option("--rate <number>", "updates a second", whole, 1_000)
    .option("--retention <number>", "seconds for which old versions are kept", whole, 5)
    .option("--data <folder>", "where to make the database (default: a temporary folder)")
    .option("--json <file>", "where to write the figures")
    .addHelpText("after", examples)
    .allowExcessArguments(false)
    .exitOverride();
  const options = command
    .parse([...args], { from: "user" })
    .opts<Omit<MemoryOptions, "data" | "json"> & { readonly data?: string; readonly json?: string }>();
  return { ...options, data: options.data, json: options.json };
}

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}
