import { Command, InvalidArgumentError } from "commander";
import type { BatchPlace } from "./report.js";

export interface ClusteringOptions {
  /** Documents of each repository. */
  readonly documents: readonly number[];
  /** Percent of the repository that is crawled in an hour. */
  readonly rates: readonly number[];
  /** Seconds of load at the most for each rate; an hour where that is less. */
  readonly seconds: number;
  readonly data: string | undefined;
  readonly json: string | undefined;
  readonly batches: readonly BatchPlace[];
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
      percents,
      [0.1, 1, 10, 20, 40, 60, 80, 100],
    )
    .option("--seconds <number>", "seconds of load for each rate, at the most", number, 20)
    .option("--data <folder>", "where to make the databases (default: a temporary folder)")
    .option("--json <file>", "where to write the figures")
    .option(
      "--batch <place>",
      "where the batch reads and writes: same, the database that serves the readers; bare, an LMDB of its own; both",
      places,
      ["same database", "bare LMDB"],
    )
    .exitOverride();
  command.parse([...args], { from: "user" });
  const { batch, ...rest } = command.opts<
    Omit<ClusteringOptions, "batches"> & { batch: readonly BatchPlace[] }
  >();
  return { ...rest, batches: batch };
}

function places(text: string): readonly BatchPlace[] {
  const found = {
    same: ["same database"],
    bare: ["bare LMDB"],
    both: ["same database", "bare LMDB"],
  } as const;
  if (text in found) return found[text as keyof typeof found];
  throw new InvalidArgumentError("It must be same, bare or both.");
}

/** Of more, documents would come twice in an hour, which has one delay of each. */
function percents(text: string): readonly number[] {
  const found = numbers(text);
  if (found.every((percent) => percent <= 100)) return found;
  throw new InvalidArgumentError("It must be 100 at the most.");
}

const numbers = (text: string): readonly number[] => text.split(",").map(number);

function number(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It must be a number above 0.");
}
