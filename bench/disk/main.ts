/**
 * How many bytes the folder of a web index has, of what, and how many are written for it: `npm run
 * disk -- --help`.
 */
import { rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { open } from "percolatordb";
import { compact } from "percolatordb/backup";
import { unpackContents } from "../../examples/webindex/contents.js";
import { documents, tables } from "../../examples/webindex/tables.js";
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
import { firstPages, openSources } from "../webindex/sources.js";
import { leftBehind, verdictOfDatabase } from "../webindex/verdict.js";
import { compositionOf } from "./composition.js";
import { type CompactedBytes, type DiskResult, describeDisk, type LoadedCrawl } from "./figure.js";

interface Options extends CommonOptions {
  readonly concurrency: number;
  readonly pages: number;
  readonly columns: number;
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
  describe: describeDisk,
  isRight: ({ wrong }) => wrong === 0,
});

async function measure(options: Options, folder: string): Promise<DiskResult> {
  const crawls: LoadedCrawl[] = [];
  for (const path of options.args) {
    sayProgress(basename(path));
    crawls.push(await loadCrawl(options, folder, path));
  }
  const composition = compositionOf(folder);
  sayProgress("compacting");
  const compacted = await compactedBytes(folder);
  sayProgress("comparing");
  await using index = await WebIndex.open(folder);
  const { wrong, problems } = await verdictOfDatabase(index.db);
  const left = await leftBehind(index.db);
  return {
    crawls,
    compacted,
    composition,
    wrong: wrong + left.length,
    problems: [...problems, ...left],
    shown: options.columns,
  };
}

/** Copies the folder, drops what the retention keeps, and copies the rest. */
async function compactedBytes(folder: string): Promise<CompactedBytes> {
  const [now, later] = [join(folder, "..", "compacted"), join(folder, "..", "collected")];
  let bodies = 0;
  try {
    const first = await compact(folder, now);
    {
      await using db = await open(now, { tables, collectEveryMs: 0 });
      await db.collect({ retentionMs: 0 });
      await using view = await db.snapshot();
      for await (const { value } of view.scan(documents.contents))
        bodies += unpackContents(value).body.length;
    }
    const second = await compact(now, later);
    return { now: first.bytes, collected: second.bytes, bodies, seconds: first.durationMs / 1_000 };
  } finally {
    for (const each of [now, later]) rmSync(each, { recursive: true, force: true });
  }
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
