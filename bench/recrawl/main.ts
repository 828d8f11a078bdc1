/**
 * The cost of indexing a new crawl, compared with a load from nothing and a rebuild: `npm run
 * recrawl -- --help`.
 */
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { askOnce } from "../harness/child.js";
import {
  between,
  type CommonOptions,
  list,
  runProgram,
  sayProgress,
  whole,
  withFolder,
} from "../harness/program.js";
import { limitPages } from "../webindex/sources.js";
import { laterCrawls } from "./crawls.js";
import {
  type Cost,
  describeRecrawl,
  type IndexCost,
  type Recrawl,
  type RecrawlResult,
  wrongOf,
} from "./figure.js";
import type { IndexTask } from "./process.js";

interface Options extends CommonOptions {
  readonly changes: readonly number[];
  readonly pages?: number;
}

await runProgram<Options, RecrawlResult>({
  name: "recrawl",
  about:
    "What it costs to bring the web index up to date with the next crawl, on the embedded store, beside a load of that crawl into an " +
    "empty database, and beside a rebuild in memory by plain functions.",
  examples: [
    "recrawl",
    "recrawl -- --changes 1,50",
    "recrawl -- --json recrawl.json crawl-2021.warc.gz crawl-2022.warc.gz",
  ],
  wrongIf: "an index differs from the batch twin",
  define: (command) =>
    command
      .argument("[archive...]", "web archives in their order, at least two (default: made from node_modules)")
      .option(
        "--changes <list>",
        "percent of the pages that change in each made crawl",
        list(between(0, 100)),
        [1, 5, 25],
      )
      .option("--pages <number>", "the most pages of each crawl (default: all)", whole),
  complete(options) {
    if (options.args.length !== 1) return options;
    throw new InvalidArgumentError("A single archive has no next one: give at least two.");
  },
  measure: (options) => withFolder("recrawl", (folder) => measure(options, folder), options.data),
  describe: describeRecrawl,
  isRight: (result) => wrongOf(result) === 0,
});

async function measure(
  { args: archives, changes, pages: most }: Options,
  folder: string,
): Promise<RecrawlResult> {
  if (most !== undefined) limitPages(most);
  const plan = { archives, changes };
  const kept = join(folder, "kept");
  const ask = <T>(method: string, number: number, more: Partial<IndexTask> = {}) => {
    sayProgress(`crawl ${number + 1} of ${laterCrawls(plan) + 1}: ${method}`);
    return askOnce<T>(new URL("./process.ts", import.meta.url), "The index", method, {
      plan,
      number,
      ...more,
    });
  };
  const describe = (number: number) => ask<{ name: string; pages: number }>("describe", number);
  const index = (number: number, data: string, pages: IndexTask["pages"]) =>
    ask<IndexCost>("index", number, { data, pages });
  const first = { ...(await describe(0)), load: await index(0, kept, "source") };
  const crawls: Recrawl[] = [];
  for (let number = 1; number <= laterCrawls(plan); number++) {
    const without = join(folder, `${number}-without`);
    await index(number, without, "rest");
    crawls.push({
      ...(await describe(number)),
      update: await index(number, kept, "source"),
      insert: await index(number, without, "source"),
      load: await index(number, join(folder, `${number}`), "whole"),
      rebuild: await ask<Cost>("rebuild", number),
    });
  }
  return { first, crawls };
}
