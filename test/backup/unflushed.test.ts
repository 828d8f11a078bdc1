import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { backup, restore } from "percolatordb/backup";
import { openLmdbStore } from "percolatordb/lmdb";
import { expect, test } from "vitest";
import type { PinnedState, RowMutation, RowStore } from "../../src/store/index.js";
import { openAlone } from "../support/databases.js";
import { addUp, items, tables } from "./load.js";
import { common, Places } from "./restored.js";

test("a backup is no base for later ones if a power cut took its newest commits", async () => {
  await using places = await Places.make();
  const rows = Array.from({ length: 2_000 }, (_, n) => `row${n}`);
  const afterCut = places.path("after");
  {
    await using db = await places.openData();
    const fill = (text: string) =>
      db.transact((tx) => {
        for (const row of rows) tx.set(items.note, row, text.repeat(200));
      });
    await fill("a");
    await using hooks = await StoreHooks.of(places.data);
    hooks.afterMark = async () => {
      // What the power cut will leave, as if the commit that follows were not yet flushed.
      await mkdir(afterCut);
      await copyFile(join(places.data, "data.mdb"), join(afterCut, "data.mdb"));
      await fill("b");
    };
    const cut = new Error("The power is cut.");
    hooks.flush = () => Promise.reject(cut);
    await expect(places.backUp()).rejects.toBe(cut);
  }
  expect(await backup(afterCut, places.backups, common)).toMatchObject({ kind: "full" });
  await restore(places.backups, places.path("restored"), common);
  await using db = await openAlone(places.path("restored"), {
    tables,
    observers: [addUp],
    collectEveryMs: 0,
  });
  await using snapshot = await db.snapshot();
  for (const row of rows) expect(await snapshot.get(items.note, row)).toBe("a".repeat(200));
});

test("a backup without a mark does not wait for a flush", async () => {
  await using places = await Places.make();
  await using db = await places.openData();
  await db.transact((tx) => tx.set(items.value, "a", 1));
  await using hooks = await StoreHooks.of(places.data);
  hooks.flush = () => Promise.reject(new Error("A store that is open only for reading cannot flush."));
  expect(await backup(places.data, places.backups, { ...common, readOnly: true })).toMatchObject({
    kind: "full",
  });
});

/** Replaces methods that all stores of folders share. */
class StoreHooks {
  afterMark: () => Promise<void> = () => Promise.resolve();
  readonly #store: RowStore;
  readonly #undo: (() => void)[] = [];

  private constructor(store: RowStore) {
    this.#store = store;
    const prototype = Object.getPrototypeOf(store) as Pick<RowStore, "mutate">;
    const { mutate } = prototype;
    const afterMark = () => this.afterMark();
    let isMarked = false;
    prototype.mutate = async function (this: RowStore, mutation: RowMutation) {
      const answer = await mutate.call(this, mutation);
      if (!isMarked && Buffer.from(mutation.row).includes("backups/")) {
        isMarked = true;
        await afterMark();
      }
      return answer;
    };
    this.#undo.push(() => {
      prototype.mutate = mutate;
    });
  }

  static async of(folder: string): Promise<StoreHooks> {
    return new StoreHooks((await openLmdbStore(folder)) as RowStore);
  }

  set flush(flush: PinnedState["flush"]) {
    const state = this.#store.pages!.pin();
    const prototype = Object.getPrototypeOf(state) as Pick<PinnedState, "flush">;
    state.release();
    const before = prototype.flush;
    prototype.flush = flush;
    this.#undo.push(() => {
      prototype.flush = before;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const undo of this.#undo) undo();
    await this.#store.close();
  }
}
