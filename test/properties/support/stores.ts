import type { OpenOptions, Oracle, RowStore } from "percolatordb";
import { openLmdbStore } from "percolatordb/lmdb";
import { memoryStore } from "percolatordb/memory";
import type { CommitHooks, StepInfo, StepName } from "percolatordb/testing";
import { temporaryFolder } from "../../support/databases.js";
import { newPlace, removePlace, storeAt } from "../../support/postgres/index.js";
import type { SteppedEnvironment } from "./environment.js";

/** Every store, with every way to commit on it. */
export const storeKinds = [
  { store: "memory", commit: "auto" },
  { store: "memory", commit: "two-phase" },
  { store: "memory of single rows", commit: "auto" },
  { store: "lmdb", commit: "auto" },
  { store: "lmdb", commit: "two-phase" },
  { store: "postgres", commit: "auto" },
  { store: "postgres", commit: "two-phase" },
] as const;

export type StoreKind = (typeof storeKinds)[number];

/** A store that outlives the databases that are opened on it. */
export interface Stand {
  open(): Promise<{ readonly store: RowStore; readonly options: OpenOptions }>;
  remove(): Promise<void>;
}

/** Creates an empty store of a kind. */
export async function standOf(kind: StoreKind, environment: SteppedEnvironment): Promise<Stand> {
  const options: OpenOptions = { environment, commit: kind.commit, collectEveryMs: 0 };
  if (kind.store === "lmdb") {
    const folder = await temporaryFolder();
    const open = async () => ({
      store: await openLmdbStore(folder.path, { environment, durability: "none" }),
      options,
    });
    return { open, remove: folder.remove };
  }
  if (kind.store === "postgres") {
    const place = await newPlace();
    const open = async () => ({
      // The timers of `environment` are too early for a server.
      store: await storeAt(place, { durability: "none" }),
      options,
    });
    return { open, remove: () => removePlace(place) };
  }
  const single = kind.store === "memory of single rows";
  const store = memoryStore({ environment, atomicBatches: !single, mutationCells: 30, pageCells: 5 });
  const oracle = single ? countingOracle(environment) : undefined;
  return {
    open: async () => ({ store: keptOpen(store), options: { ...options, oracle } }),
    remove: () => store.close(),
  };
}

/**
 * Returns the store with a `close` that does nothing, because a database closes its store when it
 * is closed.
 */
function keptOpen(store: RowStore): RowStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === "close") return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function countingOracle(environment: SteppedEnvironment): Oracle {
  let last = 0;
  return {
    next: async () => {
      last = Math.max(last + 1, environment.now() * 1_000);
      return last;
    },
    latest: () => last,
  };
}

/** Hooks that know when every step of every commit has ended, including background steps. */
export class StepWatch implements CommitHooks {
  #underWay = 0;

  async step<T>(_name: StepName, _info: StepInfo, run: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await run();
    } finally {
      this.#underWay--;
    }
  }

  /** Resolves when no step is running and no other follows. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet++) {
      if (this.#underWay > 0) quiet = -1;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
