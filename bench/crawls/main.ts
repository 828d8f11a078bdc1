/**
 * Crawls of the web index through a coordinator and workers on Bigtable's emulator, with requests
 * per document counted: `npm run crawls -- --help`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Database, open } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { loadSource } from "../../examples/webindex/load/loader.js";
import type { LoadReport } from "../../examples/webindex/load/report.js";
import { observers } from "../../examples/webindex/observers/index.js";
import { tables } from "../../examples/webindex/tables.js";
import { type Child, withChildren } from "../harness/child.js";
import {
  type CommonOptions,
  runProgram,
  sayProgress,
  secondsSince,
  whole,
  withEmulator,
} from "../harness/program.js";
import { right, short, table } from "../harness/words.js";
import { openSources } from "../webindex/sources.js";
import { leftBehind, settle, type Verdict, verdictOf } from "../webindex/verdict.js";
import { type Counted, countedSince, countRequests, requestTable } from "./counts.js";
import type { Opening } from "./worker.js";

interface Options extends CommonOptions {
  readonly workers: number;
  readonly concurrency: number;
}

/** The results of one crawl. */
export interface Crawl {
  readonly name: string;
  readonly loaded: Pick<LoadReport, "pages" | "added" | "changed" | "unchanged" | "deleted" | "problemCount">;
  /** Pages that were written. */
  readonly documents: number;
  /** From the first page until nothing was due. */
  readonly seconds: number;
  readonly requests: Counted;
  /** Committed runs of each worker. */
  readonly runs: readonly number[];
  readonly verdict: Verdict;
}

export interface CrawlsResult {
  readonly crawls: readonly Crawl[];
  /** What should not be there at the end. */
  readonly left: readonly string[];
}

await runProgram<Options, CrawlsResult>({
  name: "crawls",
  about:
    "Loads crawls into the web index on Bigtable's emulator, one after the other, with a coordinator and workers in processes of " +
    "their own; compares every table with the batch twin after each; and counts requests per document.",
  examples: ["crawls -- crawl-2021.warc.gz crawl-2022.warc.gz"],
  wrongIf: "a table differs from its twin or something was left behind",
  define: (command) =>
    command
      .argument("<source...>", "web archives or folders, in their order")
      .option("--workers <number>", "worker processes", whole, 2)
      .option("--concurrency <number>", "runs of each at a time", whole, 64),
  measure: (options) => withEmulator(() => measure(options)),
  describe: ({ crawls, left }) => [
    table(
      [
        "",
        ...["pages", "added", "changed", "deleted", "s", "cells", "wrong"].map(right),
        "runs of the workers",
      ],
      crawls.map(({ name, loaded: { pages, added, changed, deleted }, seconds, runs, verdict }) => [
        name,
        ...[pages, added, changed, deleted].map(String),
        short(seconds),
        ...[verdict.cells, verdict.wrong].map(String),
        runs.join(", "),
      ]),
    ),
    requestTable(crawls),
    ...crawls.flatMap(({ verdict }) => verdict.problems),
    ...left.map((each) => `left behind: ${each}`),
  ],
  isRight: ({ crawls, left }) =>
    left.length === 0 &&
    crawls.every(({ loaded, verdict }) => loaded.problemCount === 0 && verdict.wrong === 0),
});

async function measure({ args, workers: count, concurrency }: Options): Promise<CrawlsResult> {
  const location = `bigtable://bench/crawls?prefix=c${process.pid}`;
  const store = await openBigtableStore(location);
  await store.prepare(["~oracle"]);
  const coordinator = await startCoordinator(location);
  try {
    // This process registers the observers, so that its writes leave hints, but it runs none.
    await using db = await open(store, { tables, observers });
    return await withChildren(async (start) => {
      const workers = Array.from({ length: count }, (_, number) =>
        start(new URL("./worker.ts", import.meta.url), `Worker ${number + 1}`),
      );
      await Promise.all(
        workers.map((worker) => worker.ask("open", { location, concurrency } satisfies Opening)),
      );
      const crawls: Crawl[] = [];
      for (const path of args) crawls.push(await loadCrawl(db, workers, path));
      return { crawls, left: await leftBehind(db) };
    });
  } finally {
    await coordinator.stop();
  }
}

async function loadCrawl(db: Database, workers: readonly Child[], path: string): Promise<Crawl> {
  sayProgress(basename(path));
  /** Counts for this process, which loads, and for each worker. */
  const countAll = () =>
    Promise.all([countRequests(db), ...workers.map((worker) => worker.ask<Counted>("count"))]);
  const before = await countAll();
  const start = performance.now();
  const { pages, added, changed, unchanged, deleted, problemCount } = await loadSource(
    db,
    (await openSources([path]))[0]!,
  );
  await settle(db);
  const seconds = secondsSince(start);
  const after = await countAll();
  await using snapshot = await db.snapshot();
  return {
    name: basename(path),
    loaded: { pages, added, changed, unchanged, deleted, problemCount },
    documents: added + changed + deleted,
    seconds,
    requests: countedSince(after, before),
    runs: after.slice(1).map(({ runs }, index) => runs - before[index + 1]!.runs),
    verdict: await verdictOf(snapshot),
  };
}

/** Starts `percolator coordinator`. Resolves when it is the leader. */
async function startCoordinator(location: string): Promise<{ stop(): Promise<void> }> {
  const script = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, "coordinator", location, "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const leads = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if ((JSON.parse(line) as { event: string }).event === "leading") resolve();
    });
    void ended.then(() => reject(new Error("The coordinator ended before it led.")));
  });
  await leads;
  return {
    async stop() {
      child.kill("SIGTERM");
      const [code, signal] = (await ended) as [number | null, string | null];
      if (code !== 0) throw new Error(`The coordinator ended with ${code ?? signal}.`);
    },
  };
}
