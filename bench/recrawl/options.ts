import { Command, InvalidArgumentError } from "commander";

export interface RecrawlOptions {
  /** Web archives in the order of their crawls; none: crawls made from the documentation in `node_modules`. */
  readonly archives: readonly string[];
  /** Percent of the pages that change from one made crawl to the next. */
  readonly changes: readonly number[];
  readonly json: string | undefined;
}

const examples = `
Examples:
  $ npm run recrawl
  $ npm run recrawl -- --changes 1,50
  $ npm run recrawl -- --json recrawl.json crawl-2021.warc.gz crawl-2022.warc.gz

The exit code is 1 where an index differs from the batch twin, 2 for wrong usage, else 0: no speed is an error.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(args: readonly string[]): RecrawlOptions {
  const command = new Command("recrawl")
    .description(
      "What it costs to bring the web index up to date with the next crawl, on the embedded store, beside a load of that crawl into an " +
        "empty database, and beside a rebuild in memory by plain functions.",
    )
    .argument(
      "[archive...]",
      "web archives in their order, two at the least (default: made from node_modules)",
    )
    .option(
      "--changes <list>",
      "percent of the pages that change in each crawl that is made",
      percents,
      [1, 5, 25],
    )
    .option("--json <file>", "where to write the figures")
    .addHelpText("after", examples)
    .exitOverride();
  command.parse([...args], { from: "user" });
  const { changes, json } = command.opts<Omit<RecrawlOptions, "archives">>();
  if (command.args.length === 1)
    command.error("error: a single archive has no next one; give two at the least");
  return { archives: command.args, changes, json };
}

function percents(text: string): readonly number[] {
  return text.split(",").map((part) => {
    const number = Number(part);
    if (part.trim() !== "" && number > 0 && number <= 100) return number;
    throw new InvalidArgumentError("They must be numbers above 0, up to 100.");
  });
}
