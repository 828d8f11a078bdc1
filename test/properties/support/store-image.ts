import type { RowStore } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import type { SteppedEnvironment } from "./environment.js";

/** One stored version, with its place. */
export interface StoredVersion {
  readonly table: string;
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  readonly part: "lock" | "write" | "data" | "txn";
  readonly timestamp: number;
  readonly value: Uint8Array;
}

const parts = ["lock", "write", "data", "txn"] as const;
const allColumns = [{ start: new Uint8Array(0), end: undefined }];

/** Returns everything that a store contains in some tables. */
export async function imageOf(store: RowStore, tables: readonly string[]): Promise<StoredVersion[]> {
  const image: StoredVersion[] = [];
  for (const table of tables) {
    let start: Parameters<RowStore["readRaw"]>[0]["start"];
    do {
      const page = await store.readRaw({ table, start, columns: allColumns, parts });
      for (const { row, cells } of page.rows) {
        for (const { column, versions } of cells) {
          for (const version of versions) image.push({ table, row, column, ...version });
        }
      }
      start = page.next;
    } while (start !== undefined);
  }
  return image;
}

/** Creates a memory store with the contents of an image. */
export async function storeOf(
  image: readonly StoredVersion[],
  environment: SteppedEnvironment,
): Promise<RowStore> {
  const store = memoryStore({ environment });
  for (const { table, row, column, part, timestamp, value } of image) {
    const put = { type: "put", column, part, timestamp, value } as const;
    await store.mutate({ table, row, guards: [], mutations: [put] });
  }
  // Its counter must be above all timestamps that it contains.
  await store.atomic?.next();
  return store;
}
