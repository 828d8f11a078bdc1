import { type Database, type LoadPart, loadPart } from "percolatordb";
import type { Source } from "../sources/index.js";
import { clusters, documents, links, postings, shards } from "../tables.js";
import { Turns } from "../turns.js";
import type { BatchRow, BatchRows } from "../twin/batch.js";
import { compareKeys, linkKey, rowText } from "../twin/order.js";
import { SortedIndex } from "../twin/sorted.js";
import { Fold } from "./fold.js";
import { loadSource } from "./loader.js";
import { loadStage, type Stage } from "./progress.js";
import type { LoadCounts, LoadReport } from "./report.js";

/** The first pages of an index cannot be loaded in bulk, because it is not empty. */
export class BulkRefusedError extends Error {
  override readonly name = "BulkRefusedError";
}

export interface BulkOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onStage?: ((stage: Stage) => void) | undefined;
  /** The most bytes that each of the nine sorts keeps in memory. Default: 32 MB. */
  readonly heldBytes?: number | undefined;
}

/** How long the computation keeps the event loop: sessions are renewed, and signals arrive. */
const turnMs = 20;
const prefix = "webindex-";

/**
 * Loads the first pages of an index in bulk: computes every table with the functions of the batch
 * twin, and stores all rows at once, without observers. From then on the observers keep the tables.
 *
 * 1. Read the sources, and sort their items by URL.
 * 2. Compute all tables, through sorts that spill to temporary files.
 * 3. Store the rows in key order with `db.load`. They are visible when all are stored.
 * 4. Load what is left over with the observers: revisits of other pages.
 *
 * If a call was interrupted in steps 1 to 3, the same call repeats steps 1 and 2, and continues step
 * 3. If a call was interrupted in step 4, or was completed, the next one returns undefined. Then load
 * the sources as usual, which writes only what differs.
 *
 * @throws BulkRefusedError if the index has pages, or another bulk load was interrupted.
 */
export async function bulkLoad(
  db: Database,
  sources: readonly Source[],
  options: BulkOptions = {},
): Promise<LoadReport | undefined> {
  const loads = await db.loads();
  const isEmpty = await hasNoPages(db);
  if (!isEmpty && !loads.some(({ name }) => name.startsWith(prefix))) throw new BulkRefusedError(notEmpty);
  using fold = new Fold(sources.map(({ path }) => path).join(" "), options.heldBytes);
  for (const source of sources) {
    await fold.add(source, options.signal, (item) =>
      options.onStage?.(loadStage(source.path, item, fold.counts.pages)),
    );
  }
  const name = prefix + fold.digest;
  const known = loads.find((load) => load.name === name);
  if (known?.state === "published") return undefined;
  if (!isEmpty) throw new BulkRefusedError(notEmpty);
  const other = loads.find(({ state }) => state !== "published");
  if (other !== undefined && known === undefined) throw new BulkRefusedError(interrupted(other.name));
  await store(db, name, fold, options);
  // Without `await`, the sorts would be disposed of first.
  return await loadLeftOver(db, fold, options);
}

const notEmpty =
  "The index has pages already, and a bulk load is only for the first ones. Leave out --bulk: the observers then index " +
  "what has changed. Or give another --data.";

function interrupted(name: string): string {
  return (
    `The bulk load "${name}" of other sources was interrupted. Give the same sources in the same order to continue it, or ` +
    `remove it with \`percolator loads DATA --discard ${name}\`.`
  );
}

async function hasNoPages(db: Database): Promise<boolean> {
  await using view = await db.snapshot();
  for await (const _ of view.scan(documents.contents, { limit: 1 })) return false;
  return true;
}

async function store(db: Database, name: string, fold: Fold, options: BulkOptions): Promise<void> {
  const { signal, onStage, heldBytes } = options;
  using twin = new SortedIndex(heldBytes);
  const turns = new Turns({ ms: turnMs, signal });
  let pages = 0;
  for (const { url, contents } of fold.pages()) {
    twin.add(url, contents);
    onStage?.({ doing: "reading pages", pages: ++pages, part: undefined, waiting: undefined });
    await turns.give();
  }
  for (const _ of twin.prepare()) {
    onStage?.({ doing: "computing the tables", pages: 0, part: undefined, waiting: undefined });
    await turns.give();
  }
  await db.load(name, partsOf(fold, twin.tables()), {
    signal,
    onProgress: ({ table, rows }) =>
      onStage?.({ doing: `storing ${table}`, pages: rows, part: undefined, waiting: undefined }),
  });
}

/** The parts in the order of the tables' names, in which LMDB fills its pages best. */
function partsOf(fold: Fold, tables: Readonly<Record<string, BatchRows>>): readonly LoadPart[] {
  const rows = (name: string) => tables[name]!;
  return [
    loadPart(clusters, (after) => rowsAfter(rows("clusters"), after)),
    loadPart(documents, (after) => rowsAfter(documentRows(fold, rows("documents")), after)),
    loadPart(links, function* (after) {
      for (const { row, value } of rowsAfter(rows("links"), after && rowText(after)))
        yield { row: linkKey(row), value };
    }),
    loadPart(postings, (after) => rowsAfter(rows("postings"), after)),
    // A search keeps what it has decoded of a shard if the shard has a version.
    loadPart(shards, function* (after) {
      for (const { row, value } of rowsAfter(rows("shards"), after))
        yield { row, value: { ...value, merged: 0 } };
    }),
  ];
}

/** The rows after a key, with which a load continues. All of them if there is none. */
export function* rowsAfter(rows: BatchRows, after: string | undefined) {
  for (const [row, value] of rows) {
    if (after === undefined || compareKeys(row, after) > 0) yield { row, value };
  }
}

/** Adds the loaded columns to the derived ones. Both come in URL order. */
function* documentRows(fold: Fold, derived: BatchRows): BatchRows {
  const pages = fold.pages();
  for (const [url, cells] of derived) {
    const page = pages.next();
    if (page.done || page.value.url !== url)
      throw new Error(`The computed tables do not have the pages of the sources, near ${url}`);
    const { url: _, ...loaded } = page.value;
    yield [url, { ...loaded, ...cells } satisfies BatchRow];
  }
}

/** Loads what depends on other pages, now that these are stored. */
async function loadLeftOver(db: Database, fold: Fold, { signal }: BulkOptions): Promise<LoadCounts> {
  const { counts } = fold;
  const source: Source = {
    kind: "archive",
    path: counts.path,
    scope: undefined,
    async *items() {
      yield* fold.leftOver();
    },
  };
  counts.add(await loadSource(db, source, { signal }));
  return counts;
}
