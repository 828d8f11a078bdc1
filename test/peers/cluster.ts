import {
  type Database,
  type Environment,
  type OpenOptions,
  type Oracle,
  type RowStore,
  systemEnvironment,
} from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { openLmdbStore } from "percolatordb/lmdb";
import { memoryStore } from "percolatordb/memory";
import {
  diesAfter as diesAfterStep,
  diesBefore,
  type Interference,
  openWithHooks,
  ProcessStore,
  StepHooks,
  TestClock,
  type TestProcess,
} from "percolatordb/testing";
import { expect } from "vitest";
import { bigtableLocation, temporaryFolder } from "../support/databases.js";
import { startEmulator } from "../support/emulator/index.js";
import { newPlace, type PostgresPlace, removePlace, storeAt } from "../support/postgres/index.js";

/** Whether `PERCOLATOR_PEERS=all` asks for all variants and cases. */
const isWhole = process.env.PERCOLATOR_PEERS === "all";

/**
 * Every store and commit path. One-row mutations with a timestamp oracle represent a store on more
 * than one machine.
 */
const everyVariant = [
  { store: "memory", commit: "auto" },
  { store: "memory", commit: "two-phase" },
  { store: "one-row memory", commit: "two-phase" },
  { store: "lmdb", commit: "auto" },
  { store: "lmdb", commit: "two-phase" },
  { store: "postgres", commit: "auto" },
  { store: "postgres", commit: "two-phase" },
  { store: "bigtable", commit: "two-phase" },
] as const;

export type Variant = (typeof everyVariant)[number];

/**
 * The usual way to commit in memory, in a folder and on PostgreSQL, and two phases in memory. Two phases
 * take longest elsewhere and show the same there. Bigtable shows what memory of one-row mutations shows.
 */
export const variants: readonly Variant[] = everyVariant.filter(
  ({ store, commit }) => isWhole || store.endsWith("memory") || commit === "auto",
);

/** The variants whose commits leave locks between their steps. */
export const twoPhase: readonly Variant[] = everyVariant.filter(
  ({ store, commit }) =>
    commit === "two-phase" && (isWhole || (store !== "postgres" && store !== "bigtable")),
);
export const onePhase: readonly Variant[] = variants.filter((variant) => variant.commit === "auto");

/** Returns the cases that one of {@link twoPhase} runs. In a folder, requests take time: every eighth case. */
export function casesOn<T>({ store }: Variant, cases: readonly T[]): readonly T[] {
  return isWhole || store !== "lmdb" ? cases : cases.filter((_, index) => index % 8 === 0);
}

/** How long a lock's owner counts as alive in these tests. */
export const lockTtlMs = 5_000;

/** How long a process caches the registry, on a store of one-row mutations. */
const registryMs = 1_000;

/** A process that has the database open. */
export interface Member {
  readonly db: Database;
  readonly hooks: StepHooks;
  readonly environment: TestProcess;
}

/** Several processes on one store, under one clock. */
export class Cluster implements AsyncDisposable {
  readonly clock: TestClock;
  readonly #variant: Variant;
  readonly #members: Member[] = [];
  /** The stores to close at the end. */
  readonly #stores: RowStore[] = [];
  /** Opens the store for a process that joins. */
  #open: () => Promise<RowStore> = async () => this.#stores[0]!;
  #remove: () => Promise<void> = async () => {};
  #oracle: Oracle | undefined;

  private constructor(variant: Variant) {
    this.#variant = variant;
    // PostgreSQL takes timestamps from its own clock, which a test cannot set.
    const startMs = variant.store === "postgres" ? Date.now() : undefined;
    this.clock = new TestClock({ passesByItself: true, startMs });
  }

  static async start(variant: Variant): Promise<Cluster> {
    const cluster = new Cluster(variant);
    await cluster.#openStore();
    return cluster;
  }

  async #openStore(): Promise<void> {
    const environment = this.clock.process();
    const { store } = this.#variant;
    if (store === "lmdb") {
      const folder = await temporaryFolder();
      this.#remove = folder.remove;
      const options = { environment: requestsInRealTime(environment), durability: "none" } as const;
      this.#stores.push(await openLmdbStore(folder.path, options));
      return;
    }
    if (store === "postgres") {
      const place = await newPlace();
      this.#remove = () => removePlace(place);
      this.#open = async () => await onPostgres(place, environment, this.#stores);
      return;
    }
    if (store !== "memory") this.#oracle = countingOracle(environment);
    if (store === "bigtable") {
      const emulator = await startEmulator();
      this.#remove = () => emulator.stop();
      this.#open = () => onEmulator(emulator.host, environment, this.#stores);
    } else this.#stores.push(memoryStore({ environment, atomicBatches: store === "memory" }));
  }

  /**
   * The commit path. With `two-phase`, other transactions can meet a lock between the steps of a
   * commit.
   */
  get commit(): "one-phase" | "two-phase" {
    return this.#variant.commit === "auto" ? "one-phase" : "two-phase";
  }

  /** Another process opens the database. */
  async join(options: OpenOptions = {}): Promise<Member> {
    const environment = this.clock.process();
    const hooks = new StepHooks();
    const store = new ProcessStore(await this.#open(), environment);
    const db = await openWithHooks(store, {
      lockTtlMs,
      collectEveryMs: 0,
      ...options,
      commit: this.#variant.commit,
      oracle: this.#oracle === undefined ? undefined : ofProcess(this.#oracle, environment),
      environment,
      hooks,
    });
    // If processes cache the registry, they see new observers only after the cache expires.
    if (this.#oracle !== undefined) await this.clock.advance(registryMs);
    const member = { db, hooks, environment };
    this.#members.push(member);
    return member;
  }

  /**
   * Waits until every living process has finished its work. Expects that the store is sound and
   * holds no lock.
   */
  async expectClean(db: Database): Promise<void> {
    await this.clock.settle();
    const locks: string[] = [];
    for await (const lock of db.locks()) locks.push(`${lock.cell.table} at ${lock.startTimestamp}`);
    expect(locks).toEqual([]);
    expect(await db.check()).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { db, environment } of this.#members) {
      environment.resume();
      if (!environment.isDead) await db.close();
    }
    for (const store of this.#stores) await store.close();
    await this.#remove();
  }
}

/**
 * The environment of a store whose requests take real time, for a disk or a network. Meanwhile the
 * clock of the processes does not advance.
 */
function requestsInRealTime(environment: TestProcess): Environment {
  return {
    now: () => environment.now(),
    monotonic: () => systemEnvironment.monotonic(),
    random: () => environment.random(),
    uniqueId: () => environment.uniqueId(),
    processName: systemEnvironment.processName,
    isRunning: systemEnvironment.isRunning,
    setTimer: systemEnvironment.setTimer,
    defer: systemEnvironment.defer,
  };
}

/** Opens the database on an emulator of its own. Each process has its own connection to it. */
async function onEmulator(
  emulatorHost: string,
  environment: TestProcess,
  stores: RowStore[],
): Promise<RowStore> {
  const options = { emulatorHost, environment: requestsInRealTime(environment) };
  const store = await openBigtableStore(bigtableLocation, options);
  stores.push(store);
  return store;
}

/** Opens the database of a place. Each process has its own connections. */
async function onPostgres(
  place: PostgresPlace,
  environment: TestProcess,
  stores: RowStore[],
): Promise<RowStore> {
  const store = await storeAt(place, { environment: requestsInRealTime(environment) });
  stores.push(store);
  return store;
}

/** Timestamps for a store without its own counter. */
function countingOracle(environment: TestProcess): Oracle {
  let last = 0;
  return {
    async next() {
      last = Math.max(last + 1, Math.floor(environment.now() * 1_000));
      return last;
    },
    latest: () => last,
  };
}

function ofProcess(oracle: Oracle, environment: TestProcess): Oracle {
  return {
    async next(options) {
      await environment.turn();
      const timestamp = await oracle.next(options);
      await environment.turn();
      return timestamp;
    },
    latest: () => oracle.latest(),
  };
}

/** Stops the process for good before this step. */
export function dies({ environment }: Member): Interference {
  return diesBefore(environment);
}

/** Stops the process for good after this step was applied. */
export function diesAfter({ environment }: Member): Interference {
  return diesAfterStep(environment);
}

/** Returns the outcome of a promise, without throwing. */
export async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "committed";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

export async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
