import type { Database, RootDatabase } from "lmdb";
import { databaseNames } from "./databases.js";

type Bytes = Database<Buffer, Buffer>;

/** Entries that are moved at a time. */
const atOnce = 10_000;
const tilde = 0x7e;

/**
 * Makes layout 2 of layout 1: there the system tables' keys began with a tilde. Gives what is to be done in one write transaction, so that
 * all of it is, or nothing.
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
