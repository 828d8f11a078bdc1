import type { AnyTable, Database, Observer } from "percolatordb";
import { packContents } from "../../examples/webindex/contents.js";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { observers as indexObservers } from "../../examples/webindex/observers/index.js";
import type { Page, Source } from "../../examples/webindex/sources/index.js";
import { tables as indexTables } from "../../examples/webindex/tables.js";
import { leftBehind, verdictOfDatabase } from "../webindex/verdict.js";
import { MinHash, minhashObserver, pages, signatureOf } from "./minhash.js";

export const pipelineNames = ["compute", "minhash", "webindex"] as const;
export type PipelineName = (typeof pipelineNames)[number];

/** A pipeline with its parameters. */
export interface Work {
  readonly pipeline: PipelineName;
  /** The number of hash functions of a signature. Undefined if none is computed. */
  readonly functions?: number | undefined;
}

/** The work of worker processes on loaded pages. */
export interface Pipeline {
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
  /** Loads pages, so that they are due, and resolves to their number. */
  load(db: Database, source: Source): Promise<number>;
  /** Returns the errors when nothing is due. */
  wrong(db: Database): Promise<readonly string[]>;
}

const loadedAtOnce = 32;

/**
 * `compute` has the same pages as `minhash` but no observer. Its processes compute without the
 * database.
 */
export function pipelineOf({ pipeline, functions }: Work): Pipeline {
  if (functions === undefined)
    return {
      tables: indexTables,
      observers: indexObservers,
      load: async (db, source) => (await loadSource(db, source)).added,
      wrong: async (db) => (await verdictOfDatabase(db)).problems,
    };
  const isObserver = pipeline === "minhash";
  return {
    tables: [pages],
    observers: isObserver ? [minhashObserver(functions)] : [],
    load: loadPages,
    wrong: isObserver ? (db) => wrongSignatures(db, functions) : async () => [],
  };
}

async function loadPages(db: Database, source: Source): Promise<number> {
  const found = new Map<string, Page>();
  for await (const item of source.items()) if (item.kind === "page") found.set(item.url, item);
  const all = [...found.values()];
  for (let first = 0; first < all.length; first += loadedAtOnce) {
    await db.transact(async (tx) => {
      for (const page of all.slice(first, first + loadedAtOnce))
        tx.set(pages.contents, page.url, packContents(page));
    });
  }
  return all.length;
}

async function wrongSignatures(db: Database, functions: number): Promise<readonly string[]> {
  const hash = new MinHash(functions);
  const wrong = await leftBehind(db);
  await using view = await db.snapshot();
  for await (const { row: url, value } of view.scan(pages)) {
    const expected = signatureOf(hash, value.contents!, url);
    if (value.signature === undefined || Buffer.compare(expected, value.signature) !== 0)
      wrong.push(`${url} has another signature.`);
  }
  return wrong;
}
