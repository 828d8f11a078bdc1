/**
 * How many bytes the folder of a web index has, of what, and how many are written for it: `npm run
 * disk -- --help`.
 */
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { open } from "percolatordb";
import { compact } from "percolatordb/backup";
import { unpackContents } from "../../examples/webindex/contents.js";
import { documents, tables } from "../../examples/webindex/tables.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { withChildren } from "../harness/child.js";
import { type CommonOptions, runProgram, sayProgress, whole, withFolder } from "../harness/program.js";
import { type Verdict, verdictOfDatabase } from "../webindex/verdict.js";
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
    "Loads crawls into the web index in a folder, one after another, and into one whose values are not compressed. Reports the bytes that are written, and what the folder's bytes are.",
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

async function measure(options: Options, within: string): Promise<DiskResult> {
  const [folder, plainFolder] = [join(within, "compressed"), join(within, "plain")];
  const { crawls, plain } = await loadAll(options, folder, plainFolder);
  const composition = compositionOf(folder);
  sayProgress("compacting");
  const compacted = await compactedBytes(folder);
  sayProgress("comparing");
  const verdicts: Verdict[] = [];
  for (const each of [folder, plainFolder]) {
    await using index = await WebIndex.open(each);
    verdicts.push(await verdictOfDatabase(index.db));
  }
  return {
    crawls,
    plain,
    compacted,
    composition,
    wrong: verdicts.reduce((sum, { wrong }) => sum + wrong, 0),
    problems: verdicts.flatMap(({ problems }) => problems),
    shown: options.columns,
  };
}

/** Loads each crawl with compressed values and then with plain ones, each in a process of its own. */
async function loadAll({ concurrency, pages: max, args }: Options, folder: string, plainFolder: string) {
  return await withChildren(async (start) => {
    const script = new URL("./process.ts", import.meta.url);
    const [compressing, leaving] = [start(script, "The index"), start(script, "The index of plain values")];
    await leaving.ask("leavePlain");
    const crawls: LoadedCrawl[] = [];
    const plain: LoadedCrawl[] = [];
    for (const path of args) {
      const task = { path, max, concurrency };
      sayProgress(basename(path));
      crawls.push(await compressing.ask("load", { ...task, folder }));
      sayProgress(`${basename(path)}, plain`);
      plain.push(await leaving.ask("load", { ...task, folder: plainFolder }));
    }
    return { crawls, plain };
  });
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
