import { expect, test } from "vitest";
import { busyLoop } from "../../test/support/busy-loop.js";
import { Yielding } from "./yielding.js";

test("the event loop gets a turn after a thousand reads, however many transactions read", async () => {
  for (const readers of [1, 16, 256]) {
    const loop = busyLoop(0);
    const yielding = new Yielding(loop.environment);
    const readsEach = 65_536 / readers;
    const read = async () => {
      for (let done = 0; done < readsEach; done++) if (yielding.isDue()) await yielding.turn();
    };
    await Promise.all(Array.from({ length: readers }, read));
    // Each transaction may have a read under way when the turn comes.
    expect(loop.turns).toBeGreaterThanOrEqual(50);
    expect(loop.turns).toBeLessThanOrEqual(64);
  }
});

test("it gets one every 10 ms if what is done with the reads takes long", async () => {
  const loop = busyLoop(0);
  const yielding = new Yielding(loop.environment);
  for (let done = 0; done < 1_280; done++) {
    loop.pass(1);
    if (yielding.isDue()) await yielding.turn();
  }
  // It looks at the time after every 64th read.
  expect(loop.turns).toBe(20);
});

test("it gets one during a scan of pages that show nothing", async () => {
  const loop = busyLoop(0);
  const yielding = new Yielding(loop.environment);
  for (let page = 0; page < 640; page++) if (yielding.isDueAfterPage(0)) await yielding.turn();
  expect(loop.turns).toBe(10);
});
