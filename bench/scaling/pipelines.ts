import type { AnyTable, Database, Observer, Transaction } from "percolatordb";
import { packContents } from "../../examples/webindex/contents.js";
import { loadSource } from "../../examples/webindex/load/loader.js";
import { observers as indexObservers } from "../../examples/webindex/observers/index.js";
import type { Source } from "../../examples/webindex/sources/index.js";
import { tables as indexTables } from "../../examples/webindex/tables.js";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";
import { MinHash, minhashObserver, pages, signatureOf } from "./minhash.js";

export const pipelineNames = ["compute", "minhash", "webindex"] as const;
export type PipelineName = (typeof pipelineNames)[number];

/** A pipeline as it is measured. */
export interface Work {
  readonly pipeline: PipelineName;
  /** Hash functions of a signature; undefined where none is computed. */
  readonly functions?: number | undefined;
}

/** Pipelines that compute signatures, with each number of functions; and others. */
export function worksOf(pipelines: readonly PipelineName[], functions: readonly number[]): Work[] {
  return pipelines.flatMap((pipeline): Work[] =>
    pipeline === "webindex" ? [{ pipeline }] : functions.map((each) => ({ pipeline, functions: each })),
  );
}

/** What worker processes do to pages that have been loaded. */
export interface Pipeline {
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
  /** Brings pages in, so that they are due. Answers how many. */
  load(db: Database, source: Source): Promise<number>;
  /** What is not as it must be when nothing is due. */
  wrong(db: Database): Promise<readonly string[]>;
}

const loadedAtOnce = 32;

/** `compute` has the same pages as `minhash`, and no observer: its workers compute without the database. */
export function pipelineOf({ pipeline, functions }: Work): Pipeline {
  if (functions === undefined)
    return {
      tables: indexTables,
      observers: indexObservers,
      load: async (db, source) => (await loadSource(db, source)).added,
      wrong: wrongInIndex,
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
  const urls = new Set<string>();
  let waiting: ((tx: Transaction) => void)[] = [];
  const write = async () => {
    const some = waiting;
    waiting = [];
    await db.transact(async (tx) => {
      for (const each of some) each(tx);
    });
  };
  for await (const item of source.items()) {
    if (item.kind !== "page") continue;
    urls.add(item.url);
    const contents = packContents(item);
    waiting.push((tx) => tx.set(pages.contents, item.url, contents));
    if (waiting.length === loadedAtOnce) await write();
  }
  await write();
  return urls.size;
}

async function wrongSignatures(db: Database, functions: number): Promise<readonly string[]> {
  const hash = new MinHash(functions);
  const wrong: string[] = [];
  await using view = await db.snapshot();
  for await (const { row: url, value } of view.scan(pages)) {
    const expected = signatureOf(hash, value.contents!, url);
    if (value.signature === undefined || Buffer.compare(expected, value.signature) !== 0)
      wrong.push(`${url} has another signature.`);
  }
  return wrong;
}

async function wrongInIndex(db: Database): Promise<readonly string[]> {
  await using view = await db.snapshot();
  const verdicts = await compareWithTwin(view);
  return verdicts.flatMap(({ differences }) => differences);
}
