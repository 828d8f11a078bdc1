import { type Database, json, observer, open, table } from "percolatordb";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { newPlace, removePlace } from "../support/postgres/index.js";
import { until } from "../support/waiting.js";
import { first, greet1, greet2, greetings, people1, people2, second, splitName } from "./people.js";

const count = 60;

/** Places that two processes may share, and how to remove them. */
const places = [
  [
    "a folder",
    async () => {
      const { path, remove } = await temporaryFolder();
      return { location: path, remove };
    },
  ],
  [
    "PostgreSQL",
    async () => {
      const place = await newPlace();
      return { location: place.location, remove: () => removePlace(place) };
    },
  ],
] as const;

/** Two databases of one place, as two processes have them. */
async function withPrograms(
  place: (typeof places)[number][1],
  use: (location: string) => Promise<void>,
): Promise<void> {
  const { location, remove } = await place();
  try {
    await use(location);
  } finally {
    await remove();
  }
}

const rowOf = (i: number) => `p${i}`;

/** Writes people, and changes each of them once. */
async function load(
  db: Database,
  from: number,
  write: (db: Database, row: string, name: string) => Promise<void>,
) {
  for (let round = 0; round < 2; round++) {
    for (let i = from; i < count; i += 2) await write(db, rowOf(i), `First${i} Last${round}`);
  }
}

const writeOld = (db: Database, row: string, name: string) =>
  db.transact((tx) => tx.set(people1.who, row, { name }));
const writeNew = (db: Database, row: string, name: string) =>
  db.transact((tx) => tx.set(people2.who, row, splitName({ name })));

async function parked(db: Database): Promise<number> {
  let found = 0;
  for await (const _ of db.parked()) found++;
  return found;
}

/** Every person is readable in the new shape, and each greeting is that of the last change. */
async function expectAll(db: Database): Promise<void> {
  await using snapshot = await db.snapshot();
  for (let i = 0; i < count; i++) {
    expect(await snapshot.get(people2.who, rowOf(i))).toEqual({ first: `First${i}`, last: "Last1" });
    expect(await snapshot.get(greetings.text, rowOf(i))).toMatch(`First${i} Last1`);
  }
  expect(await parked(db)).toBe(0);
  expect(await db.check()).toEqual([]);
}

describe.each(places)("a rolling change of a value's shape, in %s", (_, place) => {
  test("loses nothing: what the old program cannot read waits for the new one", async () => {
    await withPrograms(place, async (location) => {
      const before = await open(location, { observers: [greet1] });
      const after = await open(location, { observers: [greet2] });
      let refused = 0;
      before.on("run", ({ error }) => {
        if ((error as { code?: string } | undefined)?.code === "NEWER_VALUE") refused++;
      });
      before.work();
      // Nobody else works yet, so the old program meets a value of the new one.
      await writeNew(after, rowOf(1), "First1 Last0");
      expect(await until(() => refused > 0)).toBe(true);
      after.work();
      await Promise.all([load(before, 0, writeOld), load(after, 1, writeNew)]);
      await before.close();
      await after.drain();
      await expectAll(after);
      const [report] = await after.migrate([people2]);
      expect(report).toMatchObject({ changed: count / 2, failed: 0 });
      expect(await after.migrate([people2], { check: true })).toMatchObject([{ changed: 0 }]);
      await expectAll(after);
      await after.close();
    });
  });

  test("has no failed run if the new program first writes the old version", async () => {
    await withPrograms(place, async (location) => {
      const both = table("people", {
        who: json(second, {
          version: 2,
          upgrade: { 1: splitName },
          writeVersion: 1,
          downgrade: {
            2: (value: { first: string; last: string }) => ({ name: `${value.first} ${value.last}` }),
          },
        }),
      });
      const greetBoth = observer("greet", both.who, (tx, { row, value }) =>
        tx.set(greetings.text, row, `Hello ${value?.first} ${value?.last}`),
      );
      const before = await open(location, { observers: [greet1] });
      const during = await open(location, { observers: [greetBoth] });
      const failed: unknown[] = [];
      for (const db of [before, during]) {
        db.on("run", ({ outcome, error }) => {
          if (outcome === "failed") failed.push(error);
        });
        db.work();
      }
      const writeBoth = (db: Database, row: string, name: string) =>
        db.transact((tx) => tx.set(both.who, row, splitName({ name })));
      await Promise.all([load(before, 0, writeOld), load(during, 1, writeBoth)]);
      await during.idle();
      await before.close();
      const after = await open(location, { observers: [greet2] });
      after.work();
      await Promise.all([load(during, 0, writeBoth), load(after, 1, writeNew)]);
      await after.idle();
      expect(failed).toEqual([]);
      await during.close();
      await expectAll(after);
      await after.close();
    });
  });
});

test("a program of the old version still starts while newer values exist", async () => {
  await using after = await open("memory:", { tables: [people2] });
  await writeNew(after, "new", "Neo N");
  const old = table("people", { who: json(first) });
  await expect(after.transact((tx) => tx.get(old.who, "new"))).rejects.toMatchObject({
    code: "NEWER_VALUE",
    message: expect.stringContaining('people.who, row "new"'),
  });
});
