/**
 * How many bytes the folder of a web index has, of what, and how many are written for it: `npm run
 * disk -- --help`.
 */
import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { WebIndex } from "../../examples/webindex/webindex.js";
import {
  type CommonOptions,
  runProgram,
  sayProgress,
  secondsSince,
  whole,
  withFolder,
} from "../harness/program.js";
import { cpuSeconds } from "../harness/usage.js";
import { ratio, right, short, table } from "../harness/words.js";
import { firstPages, openSources } from "../webindex/sources.js";
import { leftBehind, verdictOfDatabase } from "../webindex/verdict.js";
import { type Composition, compositionOf, totalOf } from "./composition.js";

interface Options extends CommonOptions {
  readonly concurrency: number;
  readonly pages: number;
  readonly columns: number;
}

/** One crawl, loaded into the index of those before it. */
interface LoadedCrawl {
  readonly name: string;
  readonly pages: number;
  /** The bytes of the bodies that the crawl has. */
  readonly bodyBytes: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly transactions: number;
  /** The bytes of the pages that LMDB has written for it. */
  readonly written: number;
  /** The size of the folder's data file afterwards. */
  readonly bytes: number;
}

interface DiskResult {
  readonly crawls: readonly LoadedCrawl[];
  readonly composition: Composition;
  readonly wrong: number;
  readonly problems: readonly string[];
  readonly shown: number;
}

await runProgram<Options, DiskResult>({
  name: "disk",
  about:
    "Loads crawls into the web index in a folder, one after another. Reports the bytes that are written, and what the folder's bytes are.",
  examples: ["disk -- crawl-2021.warc.gz", "disk -- --pages 1000 crawl-2021.warc.gz crawl-2022.warc.gz"],
  wrongIf: "the index differs from the batch twin",
  define: (command) =>
    command
      .argument("<source...>", "web archives or folders, in their order")
      .option("--concurrency <number>", "runs of observers at a time", whole, 64)
      .option("--pages <number>", "how many pages of each source to load", whole, Number.POSITIVE_INFINITY)
      .option("--columns <number>", "how many columns to show", whole, 24),
  measure: (options) => withFolder("disk", (folder) => measure(options, folder), options.data),
  describe: ({ crawls, composition, problems, shown }) => [
    crawlTable(crawls),
    compositionTable(composition, shown),
    ...problems,
  ],
  isRight: ({ wrong }) => wrong === 0,
});

async function measure(options: Options, folder: string): Promise<DiskResult> {
  const crawls: LoadedCrawl[] = [];
  for (const path of options.args) {
    sayProgress(basename(path));
    crawls.push(await loadCrawl(options, folder, path));
  }
  const composition = compositionOf(folder);
  sayProgress("comparing");
  await using index = await WebIndex.open(folder);
  const { wrong, problems } = await verdictOfDatabase(index.db);
  const left = await leftBehind(index.db);
  return {
    crawls,
    composition,
    wrong: wrong + left.length,
    problems: [...problems, ...left],
    shown: options.columns,
  };
}

async function loadCrawl(
  { concurrency, pages: max }: Options,
  folder: string,
  path: string,
): Promise<LoadedCrawl> {
  const source = firstPages((await openSources([path]))[0]!, max);
  let bodyBytes = 0;
  const [cpu, start] = [process.cpuUsage(), performance.now()];
  const index = await WebIndex.open(folder, { concurrency });
  const { pages } = await index.load(source, {
    onItem(item) {
      if (item.kind === "page") bodyBytes += item.body.length;
    },
  });
  await index.settle();
  const { statistics } = await index.db.status();
  await index.close();
  return {
    name: basename(path),
    pages,
    bodyBytes,
    seconds: secondsSince(start),
    cpuSeconds: cpuSeconds(cpu),
    transactions: statistics.writeTransactions!,
    written: statistics.pagesWritten! * statistics.pageBytes!,
    bytes: statSync(join(folder, "data.mdb")).size,
  };
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function crawlTable(crawls: readonly LoadedCrawl[]): string {
  const columns = [
    "pages",
    "MB of bodies",
    "s",
    "CPU ms a page",
    "transactions",
    "MB written",
    "times the bodies",
  ];
  let bodies = 0;
  return table(
    ["", ...columns.map(right), right("MB of the folder"), right("times all bodies so far")],
    crawls.map(({ name, pages, bodyBytes, seconds, cpuSeconds: cpu, transactions, written, bytes }) => {
      bodies += bodyBytes;
      return [
        name,
        String(pages),
        megabytes(bodyBytes),
        short(seconds),
        short((1_000 * cpu) / pages),
        String(transactions),
        megabytes(written),
        ratio(written / bodyBytes),
        megabytes(bytes),
        ratio(bytes / bodies),
      ];
    }),
  );
}

function compositionTable({ bytes, columns, branches, room, free }: Composition, shown: number): string {
  const rest = columns.slice(shown).reduce((sum, column) => sum + totalOf(column), 0);
  const line = (name: string, sum: number) => [name, "", "", "", "", "", "", megabytes(sum)];
  return table(
    ["MB", ...["records", "keys", "values", "older", "overhead", "unfilled", "all"].map(right)],
    [
      ...columns
        .slice(0, shown)
        .map((column) => [
          column.name,
          String(column.records),
          ...[column.keys, column.values, column.older, column.overhead, column.unfilled].map(megabytes),
          megabytes(totalOf(column)),
        ]),
      line("other columns", rest),
      line("branch pages", branches),
      line("room in leaf pages", room),
      line("free pages", free),
      line("the file", bytes),
    ],
  );
}
