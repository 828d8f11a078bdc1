/** Searches of the web index beside minisearch and PostgreSQL: `npm run search -- --help`. */
import { join } from "node:path";
import { startPostgres } from "../../examples/support/postgres-server.js";
import { askOnce, withChildren } from "../harness/child.js";
import { type CommonOptions, runProgram, sayProgress, whole, withFolder } from "../harness/program.js";
import { settings } from "../postgres/schema.js";
import {
  describeSearch,
  type LoadingTimes,
  type SearchBenchResult,
  type SearchTimes,
  tooFewOf,
} from "./figure.js";
import type { SearchTask } from "./process.js";

interface Options extends CommonOptions {
  readonly pages: number;
  readonly queries: number;
  readonly atOnce: number;
}

const script = new URL("./process.ts", import.meta.url);

await runProgram<Options, SearchBenchResult>({
  name: "search",
  about:
    "Searches of the web index, in sequence, many at a time, and while a crawl loads, beside minisearch and PostgreSQL's full-text " +
    "search over the same pages. A PostgreSQL server must be installed; it is started in a temporary folder.",
  examples: ["search -- --pages 2000", "search -- --json search.json crawl.warc.gz"],
  wrongIf: "the web index finds fewer pages than minisearch, or PostgreSQL many fewer",
  define: (command) =>
    command
      .argument("[source...]", "web archives or folders (default: the documentation in node_modules)")
      .option("--pages <number>", "pages at the most", whole, 20_000)
      .option("--queries <number>", "queries", whole, 300)
      .option("--at-once <number>", "searches at a time", whole, 20),
  measure: (options) => withFolder("search", (folder) => measure(options, folder), options.data),
  describe: describeSearch,
  isRight: (result) => tooFewOf(result).length === 0,
});

async function measure(
  { args, pages, queries, atOnce }: Options,
  folder: string,
): Promise<SearchBenchResult> {
  const ask = <T>(method: string, at: string, more: object = {}) => {
    sayProgress(method);
    const task: SearchTask = { paths: args, pages, queries, atOnce, at };
    return askOnce<T>(script, "The engine", method, { ...task, ...more });
  };
  const percolator = await ask<SearchTimes & { readonly pages: number }>("percolator", join(folder, "index"));
  const minisearch = await ask<SearchTimes>("minisearch", "");
  const server = await startPostgres({ settings });
  let postgres: SearchTimes;
  try {
    postgres = await ask<SearchTimes>("postgres", server.host);
  } finally {
    await server.stop();
  }
  const task = (name: string): SearchTask => ({
    paths: args,
    pages,
    queries,
    atOnce,
    at: join(folder, name),
  });
  const alone = await loadWith(task("alone"), "alone");
  const inOne = await loadWith(task("one"), "with searches in its process");
  const inTwo = await loadWith(task("two"), "with searches in another process");
  const times = ({ rate, searched }: Loaded): LoadingTimes => ({
    ...searched!,
    aloneRate: alone.rate,
    searchedRate: rate,
  });
  return {
    pages: percolator.pages,
    atOnce,
    percolator,
    minisearch,
    postgres,
    loading: times(inOne),
    apart: times(inTwo),
  };
}

interface Loaded {
  /** Pages a second. */
  readonly rate: number;
  readonly searched?: { readonly p50: number; readonly p95: number; readonly searches: number };
}

/** Loads the second half of the pages, and searches meanwhile. */
async function loadWith(
  task: SearchTask,
  how: "alone" | "with searches in its process" | "with searches in another process",
): Promise<Loaded> {
  sayProgress(`loading ${how}`);
  return withChildren(async (start) => {
    const loader = start(script, "The loader");
    await loader.ask("loadHalf", task);
    if (how === "alone") return { rate: await loader.ask<number>("loadRest") };
    const searcher = how === "with searches in its process" ? loader : start(script, "The searcher");
    await searcher.ask("warmUp", task);
    const searching = searcher.ask<NonNullable<Loaded["searched"]>>("searchOn");
    const rate = await loader.ask<number>("loadRest");
    await searcher.ask("endSearches");
    return { rate, searched: await searching };
  });
}
