import type { Database } from "percolatordb";
import type { RawDatabase } from "../harness/raw.js";
import { clustersOf, joined } from "./repository.js";
import { batchClusters, clusters, documents } from "./tables.js";

type Pairs = Iterable<readonly [row: string, value: string]>;

/** Counts rows that are missing, differ, or are superfluous. */
export function countDifferent(found: Pairs, expected: ReadonlyMap<string, string>): number {
  const missing = new Set(expected.keys());
  let wrong = 0;
  for (const [row, value] of found) {
    if (value !== expected.get(row)) wrong++;
    missing.delete(row);
  }
  return wrong + missing.size;
}

/** Returns the expected members of each cluster for these documents, as text. */
export function expectedClusters(documents: Pairs): Map<string, string> {
  return new Map([...clustersOf(documents)].map(([cluster, members]) => [cluster, joined(members)]));
}

/**
 * Counts documents that differ from their last load, and clusters that differ from what a batch
 * would compute.
 */
export async function countWrong(db: Database, loaded: Pairs): Promise<number> {
  const expected = new Map(loaded);
  await using snapshot = await db.snapshot();
  const found: (readonly [string, string])[] = [];
  for await (const { row, value } of snapshot.scan(documents.keys)) found.push([row, value]);
  const wrongDocuments = countDifferent(found, expected);
  found.length = 0;
  for await (const { row, value } of snapshot.scan(clusters.members))
    found.push([row, joined([...value.keys()])]);
  return wrongDocuments + countDifferent(found, expectedClusters(expected));
}

/** Counts the batch's clusters in the same database that do not match the current documents. */
export async function countWrongOfBatch(db: Database): Promise<number> {
  await using snapshot = await db.snapshot();
  const all: (readonly [string, string])[] = [];
  for await (const { row, value } of snapshot.scan(documents.keys)) all.push([row, value]);
  const found: (readonly [string, string])[] = [];
  for await (const { row, value } of snapshot.scan(batchClusters.members)) found.push([row, value]);
  return countDifferent(found, expectedClusters(all));
}

/**
 * Counts clusters in one LMDB, with all members in one value, that do not match the documents in
 * another.
 */
export function countWrongOfBare(source: RawDatabase, result: RawDatabase): number {
  return countDifferent(pairsOf(result, "clusters"), expectedClusters(pairsOf(source, "documents")));
}

/** Yields the contents of a table of an LMDB as text. */
export function* pairsOf(raw: RawDatabase, table: string): Generator<readonly [row: string, value: string]> {
  for (const { key, value } of raw.table(table).strings.getRange()) yield [key.toString("latin1"), value];
}
