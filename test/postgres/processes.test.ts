import { open } from "percolatordb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";
import { count, counted } from "./counted.js";

const rows = Array.from({ length: 200 }, (_, index) => `row ${index}`);

let place: PostgresPlace;

beforeEach(async () => {
  place = await newPlace();
});

afterEach(() => removePlace(place));

async function startWorker(): Promise<ProgramProcess> {
  const child = new ProgramProcess("test/postgres/worker-child.ts", [place.location]);
  await child.said((line) => line === "ready");
  return child;
}

test("workers in two processes handle each change once, without a coordinator, though one is killed", async () => {
  await using db = await open(place.location, { tables: [counted], observers: [count], collectEveryMs: 0 });
  const children = [await startWorker(), await startWorker()];
  try {
    for (const value of [1, 2, 3]) {
      await Promise.all(rows.map((row) => db.transact((tx) => tx.set(counted.value, row, value))));
      if (value === 2) await children[0]!.kill();
    }
    // This process runs nothing until then: the worker that is left handles what there is.
    await expect
      .poll(
        async () =>
          (await db.transact((tx) => tx.getMany(counted.seen, rows))).filter((seen) => seen === 3).length,
      )
      .toBe(rows.length);
    await db.drain();
    await using snapshot = await db.snapshot();
    expect(await snapshot.getMany(counted.seen, rows)).toEqual(rows.map(() => 3));
    const runs = await snapshot.getMany(counted.runs, rows);
    expect(runs.every((each) => each !== undefined && each >= 1 && each <= 3)).toBe(true);
    expect(await db.check()).toEqual([]);
  } finally {
    for (const child of children) await child.kill();
  }
});
