/**
 * A process of the pipeline on percolatordb. It loads, runs observers, or does both. Or it rebuilds
 * the index in memory.
 */
import { type Database, type Observer, observer, open, type Signal, type Transaction } from "percolatordb";
import { packContents } from "../../examples/webindex/contents.js";
import { pageId } from "../../examples/webindex/identity.js";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { cluster, relink } from "../../examples/webindex/observers/cluster.js";
import { elect } from "../../examples/webindex/observers/elect.js";
import { observers } from "../../examples/webindex/observers/index.js";
import { index as indexing } from "../../examples/webindex/observers/index-page.js";
import { clusters, documents, tables } from "../../examples/webindex/tables.js";
import { BatchIndex } from "../../examples/webindex/twin/batch.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { IndexWork } from "../../examples/webindex/work.js";
import { serve } from "../harness/child.js";
import { secondsSince } from "../harness/program.js";
import { openSources, readContents, readPages } from "../webindex/sources.js";
import { settle, verdictOfDatabase } from "../webindex/verdict.js";
import { clock, type Moment, type PacedLoad, putAtPace } from "./pace.js";

export interface Rebuilt {
  readonly pages: number;
  readonly seconds: number;
  readonly rows: number;
}

export interface PercolatorOpening {
  readonly data: string;
  /**
   * `both` runs observers and may load, like `npm run webindex`. `watched` also reports when a page
   * can be found.
   */
  readonly role: "both" | "watched" | "loader";
}

let index: WebIndex | undefined;
let db: Database | undefined;
let work: IndexWork | undefined;
const found: Moment[] = [];

/** Wraps an observer so that its commit also reports that its page can be found. */
function watched(
  { name, run, priority, concurrency }: Observer,
  signal: Signal<string>,
  pageOf: (tx: Transaction, row: string) => string | undefined | Promise<string | undefined>,
): Observer {
  return observer(
    name,
    signal,
    async (tx, change) => {
      await run(tx, change);
      const url = await pageOf(tx, change.row);
      // Usually read from the run's own writes.
      if (url === undefined || (await tx.get(documents.terms, url)) === undefined) return;
      tx.onCommit(() => found.push([pageId(url).text, clock()]));
    },
    { priority, concurrency },
  );
}

const itself = (_: Transaction, url: string) => url;
const watchedObservers = new Map([
  [cluster, watched(cluster, documents.rescore, itself)],
  [relink, watched(relink, documents.relinked, itself)],
  [indexing, watched(indexing, documents.reindex, itself)],
  [elect, watched(elect, clusters.elect, (tx, hash) => tx.get(clusters.canonical, hash))],
]);

serve({
  async open({ data, role }: PercolatorOpening) {
    if (role === "both") {
      index = await WebIndex.open(data);
      db = index.db;
      return;
    }
    const all = role === "watched" ? observers.map((each) => watchedObservers.get(each) ?? each) : observers;
    db = await open(data, { tables, observers: all });
    const onError = (error: unknown) => process.stderr.write(`A round failed: ${String(error)}\n`);
    if (role === "watched") work = new IndexWork(db, { concurrency: 64, onError });
  },
  async load(paths: readonly string[]) {
    let pages = 0;
    for (const source of await openSources(paths)) {
      pages += (await (index?.load(source) ?? loadSource(db!, source))).pages;
    }
    return pages;
  },
  async paced({ paths, perSecond, pages }: PacedLoad) {
    const all = await readPages(paths, pages);
    const due = await putAtPace(all, perSecond, (page) =>
      db!.transact((tx) => tx.set(documents.contents, page.url, packContents(page))),
    );
    await work!.idle();
    return { due, found };
  },
  /** Waits until nothing is due, in any process. */
  async settle() {
    await index?.settle();
    await settle(db!);
  },
  verify: () => verdictOfDatabase(db!),
  async rebuild(paths: readonly string[]): Promise<Rebuilt> {
    const started = performance.now();
    const { contents, pages } = await readContents(await openSources(paths));
    const built = new BatchIndex();
    for (const [url, packed] of contents) built.add(url, packed);
    let rows = 0;
    for (const table of Object.values(built.build())) for (const _ of table) rows++;
    return { pages, seconds: secondsSince(started), rows };
  },
  async close() {
    if (index !== undefined) return index.close();
    await work?.stop();
    await db?.close();
  },
});
