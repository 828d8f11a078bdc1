import { expect, test } from "vitest";
import { bindTable, definition, table, text } from "../schema/index.js";
import { TestClock } from "../testing/index.js";
import { open } from "./open.js";
import type { MovedSource, MoveOutcome } from "./sources.js";

/** How often a worker asks a source in a second of a clock that stands still meanwhile. */
async function movesInASecond(outcome: Pick<MoveOutcome, "moved" | "restMs">): Promise<number> {
  const clock = new TestClock();
  let moves = 0;
  const source: MovedSource = {
    description: "a test",
    move: async () => {
      moves++;
      return { isContended: false, problems: [], ...outcome };
    },
    mark: async () => async () => true,
  };
  const moved = bindTable({ ...table("moved", { value: text() })[definition], source });
  const db = await clock.until(open("memory:", { environment: clock.process(), tables: [moved] }));
  db.work();
  await clock.advance(1_000);
  const before = moves;
  await clock.advance(1_000);
  const counted = moves - before;
  await clock.until(db.close());
  return counted;
}

test("a source rests for as long as it wants to after a move, up to 250 ms", async () => {
  expect(await movesInASecond({ moved: true, restMs: 100 })).toBe(10);
  expect(await movesInASecond({ moved: true, restMs: 250 })).toBe(4);
  expect(await movesInASecond({ moved: true, restMs: 10_000 })).toBe(4);
});

test("a source without changes is asked every 50 ms", async () => {
  expect(await movesInASecond({ moved: false, restMs: 0 })).toBe(20);
});
