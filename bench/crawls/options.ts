import { Command, InvalidArgumentError } from "commander";

export interface CrawlsOptions {
  /** Web archives or folders, in the order in which they are loaded. */
  readonly sources: readonly string[];
  readonly workers: number;
  /** Runs of each worker at a time. */
  readonly concurrency: number;
  /** Where to write the figures. */
  readonly json: string | undefined;
}

const example = `
Example:
  $ npm run crawls -- crawl-2021.warc.gz crawl-2022.warc.gz

The exit code is 1 where a table differs from its twin or something was left behind, 2 for wrong usage, else 0.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(args: readonly string[]): CrawlsOptions {
  const command = new Command("crawls")
    .description(
      "Loads crawls into the web index on Bigtable's emulator, one after the other, with a coordinator and workers in processes of " +
        "their own; compares every table with the batch twin after each; and counts requests per document.",
    )
    .argument("<source...>", "web archives or folders, in their order")
    .option("--workers <number>", "worker processes", whole, 2)
    .option("--concurrency <number>", "runs of each at a time", whole, 64)
    .option("--json <file>", "where to write the figures")
    .addHelpText("after", example)
    .exitOverride();
  command.parse([...args], { from: "user" });
  const { workers, concurrency, json } = command.opts<Omit<CrawlsOptions, "sources">>();
  return { sources: command.args, workers, concurrency, json };
}

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}
