import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { type Database, open, type RootDatabase } from "lmdb";
import { guardExit } from "./exit-guard.js";
import { dataFileName } from "./folder.js";
import { makeLockFile } from "./lock-file.js";
import { nativeOptions } from "./opening.js";

/** A record as LMDB has it. */
export interface RecordEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

type Bytes = Database<Buffer, Buffer>;

/** How many bytes of records one transaction takes. That is some ten milliseconds of work. */
const bytesAtOnce = 4 * 2 ** 20;

/**
 * Writes trees into a new file of LMDB, each in the order of its keys. LMDB then fills each page
 * before it begins the next one, where pages that are written in any order are two thirds full. Calls
 * `between` after each transaction, with the number of records so far. The file is on the disk when
 * the call returns.
 */
export async function fillFolder(
  folder: string,
  trees: Iterable<readonly [name: string, entries: Iterator<RecordEntry>]>,
  between: (records: number) => Promise<void>,
): Promise<void> {
  guardExit();
  makeLockFile(folder, settings.maxReaders);
  const root = open(nativeOptions(folder, settings)) as RootDatabase;
  let records = 0;
  try {
    for (const [name, entries] of trees) {
      const database = root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" });
      for (let more = true; more; await between(records)) {
        const put = putSome(root, database, entries);
        records += put.records;
        more = put.more;
      }
    }
    await root.flushed;
  } finally {
    await root.close();
  }
  const file = await openFile(join(folder, dataFileName), "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const settings = { readOnly: false, create: true, noReadAhead: false, mapSize: 2 ** 28, maxReaders: 100 };

/** Appends entries in one transaction. Returns how many, and whether more may follow. */
function putSome(
  root: RootDatabase,
  database: Bytes,
  entries: Iterator<RecordEntry>,
): { readonly records: number; readonly more: boolean } {
  let records = 0;
  let more = true;
  let failure: unknown;
  // The callback of a transaction must not throw.
  root.transactionSync(() => {
    try {
      for (let bytes = 0; bytes < bytesAtOnce; ) {
        const next = entries.next();
        if (next.done === true) {
          more = false;
          return;
        }
        const { key, value } = next.value;
        database.putSync(key, value, { append: true });
        bytes += key.length + value.length;
        records++;
      }
    } catch (error) {
      failure = error;
    }
  });
  if (failure !== undefined) throw failure;
  return { records, more };
}
