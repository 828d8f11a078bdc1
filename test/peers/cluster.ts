import {
  type Database,
  type OpenOptions,
  type Oracle,
  open,
  type RowStore,
  systemEnvironment,
} from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import { memoryStore } from "percolatordb/memory";
import {
  diesAfter as diesAfterStep,
  diesBefore,
  type Interference,
  ProcessStore,
  StepHooks,
  TestClock,
  type TestProcess,
} from "percolatordb/testing";
import { expect } from "vitest";
import { temporaryFolder } from "../support/databases.js";

/** Every store and commit path: one-row mutations with an oracle is what a store beyond one machine has. */
export const variants = [
  { store: "memory", commit: "auto" },
  { store: "memory", commit: "two-phase" },
  { store: "one-row memory", commit: "two-phase" },
  { store: "lmdb", commit: "auto" },
  { store: "lmdb", commit: "two-phase" },
] as const;

export type Variant = (typeof variants)[number];

/** Those in which locks stand between the steps of a commit. */
export const twoPhase: readonly Variant[] = variants.filter((variant) => variant.commit === "two-phase");
export const onePhase: readonly Variant[] = variants.filter((variant) => variant.commit === "auto");

/** Of many cases, those that a variant runs: on a disk every fifth, unless `PERCOLATOR_PEERS=all` asks for the rest. */
export function casesOn<T>(variant: Variant, cases: readonly T[]): readonly T[] {
  if (variant.store !== "lmdb" || process.env.PERCOLATOR_PEERS === "all") return cases;
  return cases.filter((_, index) => index % 5 === 0);
}

/** How long a lock's owner counts as alive here. */
export const lockTtlMs = 5_000;

/** How long a process goes by what it has read of the registry, on a store of one-row mutations. */
const registryMs = 1_000;

/** A process that has the database open. */
export interface Member {
  readonly db: Database;
  readonly hooks: StepHooks;
  readonly environment: TestProcess;
}

/** Several processes on one store, under one clock. */
export class Cluster implements AsyncDisposable {
  readonly clock = new TestClock({ passesByItself: true });
  readonly #variant: Variant;
  readonly #members: Member[] = [];
  #store: RowStore | undefined;
  #remove: () => Promise<void> = async () => {};
  #oracle: Oracle | undefined;

  private constructor(variant: Variant) {
    this.#variant = variant;
  }

  static async start(variant: Variant): Promise<Cluster> {
    const cluster = new Cluster(variant);
    await cluster.#openStore();
    return cluster;
  }

  async #openStore(): Promise<void> {
    const environment = this.clock.process();
    if (this.#variant.store === "lmdb") {
      const folder = await temporaryFolder();
      this.#remove = folder.remove;
      // Its groups of commits wait for a disk: that is real time, in which the processes' own stands.
      const real = {
        now: () => environment.now(),
        monotonic: () => systemEnvironment.monotonic(),
        random: () => environment.random(),
        uniqueId: () => environment.uniqueId(),
        processName: systemEnvironment.processName,
        isRunning: systemEnvironment.isRunning,
        setTimer: systemEnvironment.setTimer,
        defer: systemEnvironment.defer,
      };
      this.#store = await openLmdbStore(folder.path, { environment: real, durability: "none" });
      return;
    }
    const atomicBatches = this.#variant.store === "memory";
    this.#store = memoryStore({ environment, atomicBatches });
    if (!atomicBatches) this.#oracle = countingOracle(environment);
  }

  /** Whether a lock can be met between the steps of a commit. */
  get commit(): "one-phase" | "two-phase" {
    return this.#variant.commit === "auto" ? "one-phase" : "two-phase";
  }

  /** Another process opens the database. */
  async join(options: OpenOptions = {}): Promise<Member> {
    const environment = this.clock.process();
    const hooks = new StepHooks();
    const store = new ProcessStore(this.#store!, environment);
    const db = await open(store, {
      lockTtlMs,
      collectEveryMs: 0,
      ...options,
      commit: this.#variant.commit,
      oracle: this.#oracle === undefined ? undefined : ofProcess(this.#oracle, environment),
      environment,
      hooks,
    });
    // Where the registry is kept in memory for a while, the others hear of new observers when that is over.
    if (this.#oracle !== undefined) await this.clock.advance(registryMs);
    const member = { db, hooks, environment };
    this.#members.push(member);
    return member;
  }

  /** Every living process has finished what it had under way, and the store is sound and holds no lock. */
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
    await this.#store?.close();
    await this.#remove();
  }
}

/** Timestamps for a store that has no counter of its own. */
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

/** The process stops for good before this step. */
export function dies({ environment }: Member): Interference {
  return diesBefore(environment);
}

/** The process stops for good when this step was applied. */
export function diesAfter({ environment }: Member): Interference {
  return diesAfterStep(environment);
}

/** What a promise came to, without throwing. */
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
