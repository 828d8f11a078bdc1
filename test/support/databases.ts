import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database, Location, Oracle } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { memoryStore } from "percolatordb/memory";
import { type OpenWithHooksOptions, openWithHooks } from "percolatordb/testing";
import { type Emulator, startEmulator } from "./emulator/index.js";
import { newPlace, removePlace, storeAt } from "./postgres/index.js";

/** Each store that needs no server of Google's once, with either way to commit. */
export const variants = [
  { store: "memory", commit: "two-phase" },
  { store: "lmdb", commit: "auto" },
  { store: "postgres", commit: "auto" },
] as const;

/**
 * Each store once. For tests of what is built on transactions, where the other variants find nothing
 * more. Bigtable's transactions have an external oracle: a coordinator.
 */
export const engines = [...variants, { store: "bigtable", commit: "two-phase" }] as const;

/** Both ways to commit in memory and in a folder, and the usual one on PostgreSQL. */
export const commitPaths = [
  ...variants,
  { store: "memory", commit: "auto" },
  { store: "lmdb", commit: "two-phase" },
] as const;

/**
 * Also PostgreSQL in two phases, and stores of one-row mutations with an external oracle: another store's counter,
 * or a coordinator for Bigtable's emulator.
 */
export const everyVariant = [
  ...commitPaths,
  { store: "memory, one row at a time", commit: "two-phase" },
  { store: "postgres", commit: "two-phase" },
  { store: "bigtable", commit: "two-phase" },
] as const;

export type Variant = (typeof everyVariant)[number];

/** Creates a new folder. The returned function removes it. */
export async function temporaryFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "percolatordb-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Opens an empty database of a variant, runs `use`, closes the database and removes its files. */
export async function withDatabase(
  variant: Variant,
  options: OpenWithHooksOptions,
  use: (db: Database) => Promise<void>,
): Promise<void> {
  await withPlace(variant, async (openHere) => {
    const db = await openHere(options);
    try {
      await use(db);
    } finally {
      await db.close();
    }
  });
}

/**
 * Like `withDatabase`, but with two databases. If the store is outside of this process, `other` has
 * its own connection, session and caches, as in a second process. Otherwise `other` is the same
 * database.
 */
export async function withTwo(
  variant: Variant,
  options: OpenWithHooksOptions,
  use: (one: Database, other: Database) => Promise<void>,
): Promise<void> {
  if (variant.store !== "bigtable" && variant.store !== "postgres")
    return withDatabase(variant, options, (db) => use(db, db));
  await withPlace(variant, async (openHere) => {
    const one = await openHere(options);
    try {
      const other = await openHere(options);
      try {
        await use(one, other);
      } finally {
        await other.close();
      }
    } finally {
      await one.close();
    }
  });
}

/** Registering an observer waits for twice as long. */
const cacheMs = 25;

/** `open`, for a place that no other process uses: registering an observer takes no two seconds. */
export function openAlone(location: Location, options: OpenWithHooksOptions = {}): Promise<Database> {
  return openWithHooks(location, { cacheMs, ...options });
}

/** The emulator that this process uses for all its databases, each with an instance of its own. */
let sharedEmulator: Promise<Emulator> | undefined;
let instances = 0;

type Open = (options: OpenWithHooksOptions) => Promise<Database>;

/** Creates a place for a database of a variant, and removes it afterwards. */
async function withPlace({ store, commit }: Variant, use: (openHere: Open) => Promise<void>): Promise<void> {
  if (store === "bigtable") {
    sharedEmulator ??= startEmulator();
    const { host } = await sharedEmulator;
    const location = `bigtable://test/test-${++instances}`;
    await use((options) => openOnEmulator(host, { cacheMs, ...options }, location));
    return;
  }
  if (store === "postgres") {
    const place = await newPlace();
    try {
      await use(async (options) => {
        const { durability, environment } = options;
        const store = await storeAt(place, { durability, environment });
        return await openWithHooks(store, { cacheMs, ...options, durability: undefined, commit });
      });
    } finally {
      await removePlace(place);
    }
    return;
  }
  const folder = await temporaryFolder();
  try {
    const location: Location =
      store === "memory" ? "memory:" : store === "lmdb" ? folder.path : memoryStore({ atomicBatches: false });
    const oracle = typeof location === "string" ? {} : { oracle: separateOracle() };
    await use((options) => openWithHooks(location, { cacheMs, ...oracle, ...options, commit }));
  } finally {
    await folder.remove();
  }
}

/** The location of databases on an emulator. */
export const bigtableLocation = "bigtable://test/test";

/**
 * Opens the database of an emulator. The first of its processes starts the coordinator that all of
 * them share.
 */
export async function openOnEmulator(
  emulatorHost: string,
  options: OpenWithHooksOptions = {},
  location = bigtableLocation,
): Promise<Database> {
  const store = await openBigtableStore(location, { emulatorHost });
  return await openWithHooks(store, { coordinator: "auto", ...options });
}

/** An oracle for a store without a counter: the counter of another store. */
function separateOracle(): Oracle {
  const counting = memoryStore().atomic!;
  return { next: (options) => counting.next(options), latest: () => counting.counter() };
}
