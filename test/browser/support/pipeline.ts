import {
  type Database,
  family,
  int,
  json,
  observer,
  open,
  signal,
  table,
  text,
  tuple,
  type Worker,
} from "percolatordb";
import { type DashboardServer, serveDashboard } from "percolatordb/dashboard";
import { openWithHooks, StepHooks, stopsBefore } from "percolatordb/testing";
import { temporaryFolder } from "../../support/databases.js";

/**
 * A small real pipeline: pages, data derived from them, an observer that fails, and one row with
 * many conflicts.
 */

const documents = table("documents", {
  contents: text(),
  title: text(),
  words: int(),
  links: json<string[]>(),
  anchors: family(text()),
  rank: int(),
  rescore: signal(),
});
const totals = table("totals", { words: int() });
export const visits = table("visits", { seen: json<{ by: string }>() }, { key: tuple(text(), int()) });

const extract = observer("extract", documents.contents, (tx, { row, value = "" }) => {
  tx.set(documents.title, row, value.split("\n", 1)[0]!);
  tx.set(documents.words, row, value.split(/\s+/).length);
  tx.set(documents.links, row, value.match(/page-\d+/g) ?? []);
});

const invert = observer("invert", documents.links, async (tx, { row, value = [] }) => {
  const title = (await tx.get(documents.title, row)) ?? "";
  for (const target of value) {
    tx.set(documents.anchors.at(row), target, title);
    tx.notify(documents.rescore, target);
  }
});

const rank = observer("rank", documents.rescore, async (tx, { row }) => {
  let links = 0;
  for await (const _ of tx.entries(documents.anchors, row)) links++;
  tx.set(documents.rank, row, links);
});

const total = observer("total", documents.words, async (tx, { value = 0, previous = 0 }) => {
  const before = (await tx.get(totals.words, "all")) ?? 0;
  tx.set(totals.words, "all", before + value - previous);
});

const review = observer(
  "review",
  documents.title,
  (_, { value = "" }) => {
    if (value.startsWith("Broken"))
      throw new RangeError(`The title ${JSON.stringify(value)} cannot be reviewed`);
  },
  { attempts: 2, backoff: { initialMs: 1, maximumMs: 2 } },
);

const observers = [extract, invert, rank, total, review];
const tables = [documents, totals, visits];

export const pageCount = 40;
/** Pages whose title the review rejects. */
export const brokenPages = ["page-07", "page-19", "page-31"] as const;

const nameOf = (index: number) => `page-${String(index % pageCount).padStart(2, "0")}`;

function contentsOf(index: number, revision: number): string {
  const row = nameOf(index);
  const isBroken = brokenPages.some((broken) => broken === row);
  const links = [1, 2, 5].map((step) => nameOf(index + step)).join(" and ");
  return `${isBroken ? "Broken" : "Page"} ${row}, revision ${revision}\nSee ${links}. ${"word ".repeat(20 + index)}`;
}

export interface PipelineOptions {
  readonly commit: "auto" | "two-phase";
  readonly writable: boolean;
  /** The folder of the built pages. */
  readonly pages: string;
}

export class Pipeline {
  readonly db: Database;
  readonly documents = documents;
  readonly #folder: { readonly remove: () => Promise<void> };
  readonly #worker: Worker;
  readonly #dashboard: DashboardServer;
  #revision = 0;

  private constructor(
    db: Database,
    folder: { readonly remove: () => Promise<void> },
    worker: Worker,
    dashboard: DashboardServer,
  ) {
    this.db = db;
    this.#folder = folder;
    this.#worker = worker;
    this.#dashboard = dashboard;
  }

  /**
   * Opens the pipeline in a new folder. With two-phase commits it contains a lock whose owner has
   * ended.
   */
  static async start({ commit, writable, pages }: PipelineOptions): Promise<Pipeline> {
    const folder = await temporaryFolder();
    if (commit === "two-phase") await leaveLock(folder.path);
    const db = await open(folder.path, { tables, observers, commit, collectEveryMs: 0 });
    const dashboard = await serveDashboard(db, { location: "./data", writable, pages, tables, observers });
    return new Pipeline(db, folder, db.work({ concurrency: 16 }), dashboard);
  }

  get url(): string {
    return this.#dashboard.url;
  }

  /** Writes every page again, each in a transaction labelled `load`. */
  async load(): Promise<void> {
    this.#revision++;
    const revision = this.#revision;
    await Promise.all(
      Array.from({ length: pageCount }, (_, index) =>
        this.db.transact((tx) => tx.set(documents.contents, nameOf(index), contentsOf(index, revision)), {
          label: "load",
        }),
      ),
    );
  }

  /** Waits until nothing is due. */
  async settle(): Promise<void> {
    await this.#worker.idle();
  }

  async parked(): Promise<number> {
    let count = 0;
    for await (const _ of this.db.parked()) count++;
    return count;
  }

  async close(): Promise<void> {
    await this.#dashboard.close();
    await this.#worker.stop();
    await this.db.close();
    await this.#folder.remove();
  }
}

/**
 * Leaves a lock of a transaction that stopped before its commit point, in a process that has ended.
 * Nothing else reads its row.
 */
async function leaveLock(path: string): Promise<void> {
  const hooks = new StepHooks();
  hooks.once("commit-timestamp", stopsBefore);
  const db = await openWithHooks(path, { tables, commit: "two-phase", hooks, lockTtlMs: 1 });
  const abandoned = db.transact((tx) => tx.set(totals.words, "left-behind", 1));
  abandoned.catch(() => undefined);
  while (hooks.count("commit-timestamp") === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  await db.close();
}
