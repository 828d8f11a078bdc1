import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, type Location, type OpenOptions, type Oracle, open } from "percolatordb";
import { memoryStore } from "percolatordb/memory";

/** Every store and commit path that a database can have here by its location alone. */
export const variants = [
  { store: "memory", commit: "auto" },
  { store: "memory", commit: "two-phase" },
  { store: "lmdb", commit: "auto" },
  { store: "lmdb", commit: "two-phase" },
] as const;

/** And a store of one-row mutations, whose timestamps come from an oracle elsewhere. */
export const everyVariant = [
  ...variants,
  { store: "memory, one row at a time", commit: "two-phase" },
] as const;

export type Variant = (typeof everyVariant)[number];

/** A folder of its own, removed by the returned function. */
export async function temporaryFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "percolatordb-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Opens an empty database of a variant, runs `use`, closes it and removes what it left. */
export async function withDatabase(
  variant: Variant,
  options: OpenOptions,
  use: (db: Database) => Promise<void>,
): Promise<void> {
  const folder = await temporaryFolder();
  try {
    const db = await openVariant(variant, folder.path, options);
    try {
      await use(db);
    } finally {
      await db.close();
    }
  } finally {
    await folder.remove();
  }
}

function openVariant(variant: Variant, folder: string, options: OpenOptions): Promise<Database> {
  const { store, commit } = variant;
  const location: Location =
    store === "memory" ? "memory:" : store === "lmdb" ? folder : memoryStore({ atomicBatches: false });
  const oracle = typeof location === "string" ? {} : { oracle: separateOracle() };
  return open(location, { ...oracle, ...options, commit });
}

/** The oracle of a store that cannot count: the counter of another. */
function separateOracle(): Oracle {
  const counting = memoryStore().atomic!;
  return { next: (options) => counting.next(options), latest: () => counting.counter() };
}
