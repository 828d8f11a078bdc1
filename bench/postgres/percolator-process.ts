/** A process of the pipeline on percolatordb: it loads, or runs observers, or both. */
import { type Database, observer, open, type Worker } from "percolatordb";
import { packContents } from "../../examples/webindex/contents.js";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { observers } from "../../examples/webindex/observers/index.js";
import { merge } from "../../examples/webindex/observers/merge.js";
import { documents, shards, tables } from "../../examples/webindex/tables.js";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";
import { WebIndex } from "../../examples/webindex/webindex.js";
import { clock, type Moment, type PacedLoad, putAtPace } from "./pace.js";
import { openSources, readPages } from "./pages.js";
import { serve } from "./serve.js";
import { describeVerdicts, type Verdict } from "./verdict.js";

export interface PercolatorOpening {
  readonly data: string;
  /** `both` loads and runs observers, as `npm run webindex` does; `watched` tells besides when a page could be found. */
  readonly role: "both" | "watched" | "loader";
}

let index: WebIndex | undefined;
let db: Database | undefined;
let worker: Worker | undefined;
const found: Moment[] = [];

/** The last observer, which also tells which pages are in the postings by its commit. */
const watchedMerge = observer(
  merge.name,
  shards.merge,
  async (tx, change) => {
    const waiting = async () => {
      const ids: string[] = [];
      for await (const { qualifier } of tx.entries(shards.pending, change.row)) ids.push(qualifier);
      return ids;
    };
    const before = await waiting();
    await merge.run(tx, change);
    const left = new Set(await waiting());
    tx.onCommit(() => {
      const at = clock();
      for (const id of before) if (!left.has(id)) found.push([id, at]);
    });
  },
  { priority: merge.priority, concurrency: merge.concurrency },
);

serve({
  async open({ data, role }: PercolatorOpening) {
    if (role === "both") {
      index = await WebIndex.open(data);
      db = index.db;
      return;
    }
    const watched = observers.map((each) => (each === merge ? watchedMerge : each));
    db = await open(data, { tables, observers: role === "watched" ? watched : observers });
    if (role === "watched") worker = db.work({ concurrency: 64 });
  },
  async load(paths: readonly string[]) {
    let pages = 0;
    for (const source of await openSources(paths)) {
      pages += (await (index?.load(source) ?? loadSource(db!, source))).pages;
      await index?.settle();
    }
    return pages;
  },
  async paced({ paths, perSecond, pages }: PacedLoad) {
    const all = await readPages(paths, pages);
    const due = await putAtPace(all, perSecond, (page) =>
      db!.transact((tx) => tx.set(documents.contents, page.url, packContents(page))),
    );
    await worker!.idle();
    return { due, found };
  },
  /** Waits until nothing is due, for whomever. */
  async settle() {
    do await index?.settle();
    while (await isDue(db!));
  },
  async verify(): Promise<Verdict> {
    await using view = await db!.snapshot();
    const problems = (await db!.check()).map((problem) => JSON.stringify(problem));
    for await (const { row, error } of db!.parked()) problems.push(`given up on ${row}: ${error.message}`);
    return describeVerdicts(await compareWithTwin(view), problems);
  },
  async close() {
    if (index !== undefined) return index.close();
    await worker?.stop();
    await db?.close();
  },
});

async function isDue(database: Database): Promise<boolean> {
  for await (const _ of database.pending()) return true;
  return false;
}
