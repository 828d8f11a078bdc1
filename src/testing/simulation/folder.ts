import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Environment, systemEnvironment } from "../../environment/index.js";
import type { RowStore } from "../../store/index.js";
import { ChangeOrder } from "../world/index.js";

/**
 * A real LMDB database in a temporary folder, which the processes of one run share. Its I/O and its own timers take real time, for which the
 * world waits; its wall clock is the run's, so that timestamps are decided by the seed.
 *
 * Each simulated process opens the folder once. The library shares one LMDB environment between all stores that one real process has opened
 * on a folder, so the simulated processes share it too: one queue of commits, one cached snapshot for reads.
 */
export class SimulatedFolder {
  /** The folder's wall clock, in milliseconds since 1970. The run sets it before the first commit. */
  now: () => number = () => 0;
  /** Of the changes that all processes ask for. */
  readonly order = new ChangeOrder();
  /** Opened before all others, and closed after them. */
  readonly store: RowStore;
  readonly #path: string;
  readonly #open: () => Promise<RowStore>;
  readonly #opened: RowStore[] = [];
  #opening: Promise<unknown> = Promise.resolve();

  private constructor(path: string, store: RowStore, open: () => Promise<RowStore>) {
    this.#path = path;
    this.#open = open;
    this.store = store;
  }

  /** Makes the folder, and an empty database in it. `close` removes both. */
  static async make(durability: "full" | "none"): Promise<SimulatedFolder> {
    const { openLmdbStore } = await import("../../store/lmdb/index.js");
    const path = await mkdtemp(join(tmpdir(), "percolator-simulation-"));
    let folder: SimulatedFolder | undefined;
    const environment: Environment = { ...systemEnvironment, now: () => folder!.now() };
    const open = () => openLmdbStore(path, { environment, durability });
    try {
      folder = new SimulatedFolder(path, await open(), open);
      return folder;
    } catch (error) {
      await rm(path, { recursive: true, force: true });
      throw error;
    }
  }

  /** Opens the folder for one more process. Opens one after the other, so that processes begin in the order in which they asked. */
  open(): Promise<RowStore> {
    const opening = this.#opening.then(async () => {
      const store = await this.#open();
      this.#opened.push(store);
      return store;
    });
    this.#opening = opening.catch(() => undefined);
    return opening;
  }

  /** Waits for what is under way, closes every store, and removes the folder. */
  async close(): Promise<void> {
    try {
      for (const store of this.#opened.splice(0)) await store.close();
      await this.store.close();
    } finally {
      await rm(this.#path, { recursive: true, force: true });
    }
  }
}
