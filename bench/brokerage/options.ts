import { Command, InvalidArgumentError } from "commander";

export interface BrokerageOptions {
  /** Measured with each number of processes up to this. */
  readonly processes: number;
  readonly rounds: number;
  /** Of customers and the market, over all processes. */
  readonly transactions: number;
  /** Orders that are not settled yet, over all processes, at the most. */
  readonly ahead: number;
  /** Customers at a time, over all processes. */
  readonly clients: number;
  /** Runs of observers at a time, in each process. */
  readonly concurrency: number;
  readonly store: "lmdb" | "bigtable";
  /** Seconds that each round waits at the most until others leave the machine alone. */
  readonly wait: number;
  readonly data: string | undefined;
  readonly json: string | undefined;
  /** Flags of node's for the processes. */
  readonly node: readonly string[];
}

const transactionsOf = { lmdb: 60_000, bigtable: 3_000 };

const example = `
Examples:
  $ npm run brokerage
  $ npm run brokerage -- --rounds 5 --transactions 100000 --json brokerage.json
  $ npm run brokerage -- --processes 1 --rounds 1 --node=--cpu-prof
  $ npm run brokerage -- --store bigtable

The exit code is 1 where an order is lost, or money, securities or prices do not add up, 2 for wrong usage, else 0.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(args: readonly string[]): BrokerageOptions {
  const command = new Command("brokerage")
    .description(
      "Customers who trade by way of brokers, over one process and several: the same transactions each time, timed until the last order is " +
        "settled and nothing is due. Every cent is audited afterwards.",
    )
    .option("--processes <number>", "up to so many", whole, 2)
    .option("--rounds <number>", "rounds, each with every number of processes", whole, 3)
    .option(
      "--transactions <number>",
      `of customers and the market, in all (default: ${transactionsOf.lmdb}, ${transactionsOf.bigtable} on bigtable)`,
      whole,
    )
    .option("--ahead <number>", "orders that wait to be settled, in all, at the most", whole, 500)
    .option("--clients <number>", "customers at a time, in all", whole, 64)
    .option("--concurrency <number>", "runs of observers at a time, in each process", whole, 32)
    .option("--store <name>", "lmdb, or bigtable: the emulator", store, "lmdb")
    .option(
      "--wait <seconds>",
      "before each round, at the most, until others leave the machine alone",
      wholeOrNone,
      0,
    )
    .option("--data <folder>", "where to make the databases (default: a temporary folder)")
    .option("--json <file>", "where to write the report")
    .option("--node <flag>", "a flag of node's for the processes; may be repeated", gather, [])
    .addHelpText("after", example)
    .exitOverride();
  command.parse([...args], { from: "user" });
  const options = command.opts<Omit<BrokerageOptions, "data" | "json"> & Partial<BrokerageOptions>>();
  return {
    ...options,
    transactions: options.transactions ?? transactionsOf[options.store],
    data: options.data,
    json: options.json,
  };
}

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

function wholeOrNone(text: string): number {
  return text === "0" ? 0 : whole(text);
}

function store(text: string): BrokerageOptions["store"] {
  if (text === "lmdb" || text === "bigtable") return text;
  throw new InvalidArgumentError("It must be lmdb or bigtable.");
}

function gather(flag: string, before: readonly string[]): readonly string[] {
  return [...before, flag];
}
