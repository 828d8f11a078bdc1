import { Command, InvalidArgumentError } from "commander";
import type { Size } from "./figure.js";

export interface FiguresOptions {
  readonly size: Size;
  /** Figures to measure; empty for all. */
  readonly only: readonly string[];
  /** Files of results to draw instead of measuring; empty to measure. */
  readonly from: readonly string[];
  /** Web archives for the figures that index pages; empty: the documentation in `node_modules`. */
  readonly archives: readonly string[];
  /** Where results and plots go; undefined: the documentation's own folder, and its page with them. */
  readonly out: string | undefined;
  readonly list: boolean;
}

const examples = `
Examples:
  $ npm run figures                                  # all of it, small: under 20 minutes
  $ npm run figures -- --full                        # as docs/performance.md has it; leave the machine alone meanwhile
  $ npm run figures -- --only delay --only oracle    # those anew; the others stay as they are
  $ npm run figures -- --full --archive crawl-1.warc.gz --archive crawl-2.warc.gz
  $ npm run figures -- --from docs/figures/performance/results.json   # draws again, measures nothing
  $ npm run figures -- --out /tmp/figures            # elsewhere: the page is left alone

One measurement runs after the other. What each of them finds is saved when its figure is done, so that a run that was
cancelled keeps what it had. A figure of which a part fails keeps what that part found before.

The exit code is 1 where a figure could not be measured or drawn, 2 for wrong usage, 130 where it was cancelled, else 0.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(
  args: readonly string[],
  figures: readonly { readonly name: string; readonly about: string }[],
): FiguresOptions {
  const names = figures.map(({ name }) => name);
  const command = new Command("figures")
    .description(
      "Runs the measurements of docs/performance.md, one after the other, and brings its tables and plots up to date.",
    )
    .option("--full", "as large as the page wants them: hours")
    .option("--only <name>", "this figure only; may be repeated", figureName(names))
    .option(
      "--archive <file>",
      "a web archive for the figures that index pages, in the order of the crawls; may be repeated (default: the documentation in node_modules)",
      (file: string, before: readonly string[] = []) => [...before, file],
    )
    .option("--from <file...>", "draw what these files of results have, and measure nothing")
    .option(
      "--out <folder>",
      "where to write results, plots and tables (default: where docs/performance.md has them)",
    )
    .option("--list", "say which command lines would be run, and run none")
    .addHelpText(
      "after",
      `\nFigures:\n${figures.map(({ name, about }) => `  ${name.padEnd(15)}${about}`).join("\n")}`,
    )
    .addHelpText("after", examples)
    .allowExcessArguments(false)
    .exitOverride();
  const parsed = command.parse([...args], { from: "user" }).opts<{
    readonly full?: boolean;
    readonly only?: string[];
    readonly archive?: string[];
    readonly from?: string[];
    readonly out?: string;
    readonly list?: boolean;
  }>();
  return {
    size: parsed.full === true ? "full" : "small",
    only: parsed.only ?? [],
    from: parsed.from ?? [],
    archives: parsed.archive ?? [],
    out: parsed.out,
    list: parsed.list ?? false,
  };
}

function figureName(names: readonly string[]): (value: string, before: string[] | undefined) => string[] {
  return (value, before = []) => {
    if (names.includes(value)) return [...before, value];
    throw new InvalidArgumentError(`Allowed are ${names.join(", ")}.`);
  };
}
