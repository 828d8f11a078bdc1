import { describe, expect, test } from "vitest";
import { CommandLine } from "../support/command-line.js";
import { World } from "./months/world.js";
import { runs } from "./support/runs.js";

/**
 * The life of a database over months, in random order: columns and tables are added, renamed, given new versions, dropped
 * and declared again with another type, while the program before still runs; old values are migrated, cells expire,
 * garbage is collected; backups are restored, folders compacted, and databases moved by an export. After each step
 * everything that can be read, also of the past, equals plain maps, and everything derived a recomputation.
 */

const { numRuns = 1, seed = 1 } = runs(1);

describe.each(["memory", "folder"] as const)("months of a database, %s", (store) => {
  const seeds = Array.from({ length: numRuns }, (_, index) => seed + index);
  test.each(seeds)("seed %i", { timeout: 300_000 }, async (seed) => {
    await using world = await World.make(seed, store, await CommandLine.create());
    try {
      for (let step = 0; step < 40; step++) await world.step();
      await world.compareDerived();
    } catch (error) {
      expect.fail(
        `${error instanceof Error ? error.stack : String(error)}\n\nafter:\n${world.log.join("\n")}`,
      );
    }
  });
});
