import { Command, InvalidArgumentError } from "commander";

export interface ClusteringOptions {
  /** Documents of each repository. */
  readonly documents: readonly number[];
  /** Percent of the repository that is crawled in an hour. */
  readonly rates: readonly number[];
  /** Seconds of load at the most for each rate; an hour where that is less. */
  readonly seconds: number;
  readonly data: string | undefined;
  readonly json: string | undefined;
  readonly svg: string;
}

export function parseOptions(args: readonly string[]): ClusteringOptions {
  const command = new Command("clustering")
    .description(
      "Clusters documents as they are crawled, and in batches: the delay of each against the rate of the crawl (the paper's figure 7). " +
        "An hour is three times as long as the batch takes.",
    )
    .option("--documents <list>", "documents of the repositories", numbers, [10_000, 100_000])
    .option(
      "--rates <list>",
      "percent of the repository that is crawled in an hour",
      numbers,
      [0.1, 1, 10, 20, 40, 60, 80, 100],
    )
    .option("--seconds <number>", "seconds of load for each rate, at the most", number, 20)
    .option("--data <folder>", "where to make the databases (default: a temporary folder)")
    .option("--json <file>", "where to write the figures")
    .option("--svg <file>", "where to draw", "docs/figures/clustering.svg")
    .exitOverride();
  command.parse([...args], { from: "user" });
  return command.opts<ClusteringOptions>();
}

const numbers = (text: string): readonly number[] => text.split(",").map(number);

function number(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It must be a number above 0.");
}
