import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Environment, systemEnvironment } from "../../../environment/index.js";
import type { RowStore } from "../../../store/index.js";
import { ChangeOrder } from "../../world/index.js";

/**
 * A real LMDB database in a temporary folder, which the processes of one run share. Its I/O and its
 * own timers take real time, for which the world waits. Its wall clock is the run's, so the seed
 * decides its timestamps.
 *
 * Each simulated process opens the folder once. The library shares one LMDB environment between all
 * stores that one real process has opened on a folder. The simulated processes therefore share it
 * too, with one queue of commits and one cached snapshot for reads.
 */
export class SimulatedFolder {
  /**
   * The folder's wall clock, in milliseconds since 1970. The run sets it before the first commit.
   */
  now: () => number = () => 0;
  /** Orders the changes of all processes. */
  readonly order = new ChangeOrder();
  /** Opened before all other stores on the folder, and closed after them. */
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

  /** Creates the folder, with an empty database in it. `close` removes both. */
  static async make(durability: "full" | "none"): Promise<SimulatedFolder> {
    const { openLmdbStore } = await import("../../../store/lmdb/index.js");
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

  /**
   * Opens the folder for one more process. It opens one at a time, so processes start in the order
   * in which they asked.
   */
  open(): Promise<RowStore> {
    const opening = this.#opening.then(async () => {
      const store = await this.#open();
      this.#opened.push(store);
      return store;
    });
    this.#opening = opening.catch(() => undefined);
    return opening;
  }

  /** Waits for calls in progress, closes every store, and removes the folder. */
  async close(): Promise<void> {
    try {
      for (const store of this.#opened.splice(0)) await store.close();
      await this.store.close();
    } finally {
      await rm(this.#path, { recursive: true, force: true });
    }
  }
}
