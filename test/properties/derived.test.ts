import { describe, expect, test } from "vitest";
import { everyVariant, withTwo } from "../support/databases.js";
import { RandomShop } from "../support/derived/changes.js";
import { actualOf, derivations, expectedOf, shop } from "../support/derived/shop.js";

/**
 * Every kind of derivation, chained too, equals a recomputation in plain JavaScript after random
 * inserts, updates and deletes. Workers run meanwhile, on two connections if the store has them.
 */

describe.each(everyVariant)("derived tables on $store, $commit", (variant) => {
  // The emulator and the server take a hundred times as long for a run of an observer as memory.
  const isFast = variant.store === "memory" || variant.store === "lmdb";
  const operations = isFast ? 60 : 12;

  test.each(variant.store === "memory" ? [1, 2] : [3])("equal a recomputation, seed %i", async (seed) => {
    await withTwo(variant, shop, async (one, other) => {
      const random = new RandomShop(seed, 12);
      await using _first = one.work();
      await using _second = other.work();
      for (let round = 0; round < 3; round++) {
        await random.change(one, operations / 3, 1 + (seed % 3));
        await one.drain();
        await using snapshot = await one.snapshot();
        expect(await actualOf(snapshot)).toEqual(expectedOf(random.orders, random.customers));
        for (const derivation of derivations) expect(await derivation.compare(snapshot)).toEqual([]);
      }
      expect(await one.check()).toEqual([]);
    });
  });
});
