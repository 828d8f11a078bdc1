import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, type OpenOptions, open } from "percolatordb";

/** Every store and commit path that a database can have here. */
export const variants = [
  { store: "memory", commit: "auto" },
  { store: "memory", commit: "two-phase" },
  { store: "lmdb", commit: "auto" },
  { store: "lmdb", commit: "two-phase" },
] as const;

export type Variant = (typeof variants)[number];

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
    const location = variant.store === "memory" ? "memory:" : folder.path;
    const db = await open(location, { ...options, commit: variant.commit });
    try {
      await use(db);
    } finally {
      await db.close();
    }
  } finally {
    await folder.remove();
  }
}
