import { open } from "percolatordb";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { newPlace, removePlace } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";
import { until } from "../support/waiting.js";
import { greetings, people2 } from "./people.js";
import { greetNew } from "./rolling-observers.js";

/** A rolling deploy in processes of their own, under load, in which programs of both versions are killed. */

const child = "test/evolution/rolling-child.ts";
const changes = 60;

/** The number of the newest acknowledged change of each person, and of the newest change of a program. */
function acknowledged(programs: readonly ProgramProcess[]) {
  const newest = new Map<string, number>();
  for (const line of programs.flatMap(({ lines }) => lines)) {
    const [row, round] = line.split(" ") as [string, string];
    newest.set(row, Math.max(newest.get(row) ?? 0, Number(round)));
  }
  return newest;
}

async function roll(location: string): Promise<void> {
  const started: ProgramProcess[] = [];
  const start = (version: string, from: number) => {
    const program = new ProgramProcess(child, [version, location, String(from)]);
    started.push(program);
    return program;
  };
  const busy = (program: ProgramProcess) =>
    until(() => program.lines.length >= changes || program.hasEnded).then(() =>
      expect(program.hasEnded, program.errors).toBe(false),
    );
  try {
    const firstOld = start("old", 0);
    await busy(firstOld);
    const firstNew = start("new", 0);
    await busy(firstNew);
    // The new one is killed while it works beside the old one, and starts again.
    firstNew.signal("SIGKILL");
    await firstNew.ended();
    const secondNew = start("new", 10_000);
    await busy(secondNew);
    firstOld.signal("SIGKILL");
    await firstOld.ended();
    const before = secondNew.lines.length;
    await until(() => secondNew.lines.length >= before + changes || secondNew.hasEnded);
    secondNew.tell("stop");
    await secondNew.ended();
    expect(secondNew.end, secondNew.errors).toBe("0");
  } finally {
    await Promise.all(started.map((program) => program.kill()));
  }

  await using db = await open(location, { observers: [greetNew] });
  await db.drain();
  const parked: unknown[] = [];
  for await (const change of db.parked()) parked.push(change);
  expect(parked).toEqual([]);
  const newest = acknowledged(started);
  expect(newest.size).toBe(40);
  const check = async () => {
    await using snapshot = await db.snapshot();
    for (const [row, round] of newest) {
      const who = await snapshot.get(people2.who, row);
      // A killed program may have committed one more change than it has printed.
      expect(Number(who?.last.replace("Last", "")), row).toBeGreaterThanOrEqual(round);
      expect(await snapshot.get(greetings.text, row), row).toContain(`First ${who?.last}`);
    }
  };
  await check();
  expect(await db.migrate([people2])).toMatchObject([{ changed: 20, failed: 0 }]);
  await db.drain();
  await check();
  expect(await db.check()).toEqual([]);
}

test("a rolling change of a value's shape loses nothing in a folder", async () => {
  const { path, remove } = await temporaryFolder();
  await roll(path);
  await remove();
}, 180_000);

test("a rolling change of a value's shape loses nothing on PostgreSQL", async () => {
  const place = await newPlace();
  await roll(place.location);
  await removePlace(place);
}, 180_000);
