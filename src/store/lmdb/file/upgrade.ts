import type { Database, RootDatabase } from "lmdb";
import { type Databases, databaseNames, type Root } from "../record/databases.js";
import { Key } from "../record/key.js";
import { sealed } from "../record/seal.js";
import {
  formats,
  readFormat,
  readSealedThrough,
  sealState,
  writeFormat,
  writeSealedThrough,
} from "../record/state.js";

type Bytes = Database<Buffer, Buffer>;

/** How many entries one transaction moves or seals. */
const atOnce = 10_000;
const tilde = 0x7e;

/**
 * Converts layout 1 to layout 2. In layout 1, the keys of system tables began with a tilde. Returns
 * an action to run in one write transaction, so that the conversion happens completely or not at
 * all.
 */
export function upgradeFrom1(root: RootDatabase): () => void {
  const databases = databaseNames.map((name) =>
    root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" }),
  );
  return () => {
    for (const database of databases) moveSystemTables(database);
  };
}

function moveSystemTables(database: Bytes): void {
  const bounds = { start: Buffer.of(tilde), end: Buffer.of(tilde + 1), limit: atOnce };
  for (;;) {
    const entries = [...database.getRange(bounds)].map(({ key, value }) => ({
      key: Buffer.from(key),
      value: Buffer.from(value),
    }));
    if (entries.length === 0) return;
    for (const { key, value } of entries) {
      void database.remove(key);
      const moved = Buffer.from(key);
      moved[0] = 0;
      void database.put(moved, value);
    }
  }
}

/**
 * The first step from layout 2 to layout 3, whose records have seals. It must run inside a write
 * transaction.
 */
export function beginSealing(databases: Pick<Databases, "meta">): void {
  sealState(databases);
  writeFormat(databases, formats.sealing);
}

/**
 * Seals the records that have no seal yet, in write transactions of {@link atOnce} records. Each
 * transaction records how far it came. So an interrupted upgrade continues from there, and several
 * processes that open the folder share the work.
 */
export function sealAll(root: RootDatabase, own: Root, databases: Pick<Databases, "meta">): void {
  const raw = databaseNames.map((name) =>
    root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" }),
  );
  let failure: unknown;
  for (let done = false; !done && failure === undefined; ) {
    own.transactionSync(() => {
      try {
        done = readFormat(databases) !== formats.sealing || !sealSome(databases, raw);
        if (done) writeFormat(databases, formats.current);
      } catch (error) {
        failure = error;
      }
    });
  }
  if (failure !== undefined) throw failure;
}

/** Seals the next records. Returns whether more may follow. */
function sealSome(databases: Pick<Databases, "meta">, raw: readonly Bytes[]): boolean {
  const through = readSealedThrough(databases);
  const place = through?.[0] ?? 0;
  const database = raw[place];
  if (database === undefined) return false;
  const last = through?.subarray(1);
  const start = last === undefined || last.length === 0 ? {} : { start: last, exclusiveStart: true };
  const entries = [...database.getRange({ ...start, limit: atOnce })].map(({ key, value }) => ({
    key: Buffer.from(key),
    value: Buffer.from(value),
  }));
  const under = new Key();
  for (const { key, value } of entries) void database.put(key, sealed(under.raw(key), value));
  const next = entries.length < atOnce ? [Buffer.of(place + 1)] : [Buffer.of(place), entries.at(-1)!.key];
  writeSealedThrough(databases, Buffer.concat(next));
  return true;
}
