import {
  type Column,
  type Database,
  float,
  int,
  json,
  observer,
  open,
  storedAs,
  type Transaction,
  table,
} from "percolatordb";
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

/** The program of the first of two deploys: it reads both versions, and writes the old one. */
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
const writeBoth = (db: Database, row: string, name: string) =>
  db.transact((tx) => tx.set(both.who, row, splitName({ name })));

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
      const before = await open(location, { observers: [greet1] });
      const during = await open(location, { observers: [greetBoth] });
      const failed: unknown[] = [];
      for (const db of [before, during]) {
        db.on("run", ({ outcome, error }) => {
          if (outcome === "failed") failed.push(error);
        });
        db.work();
      }
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

/** Adds 1 to the number in the last name of a person, whichever version the value has. */
const additions = {
  old: (db: Database, row: string) =>
    db.transact(async (tx) => {
      const { name } = (await tx.get(people1.who, row))!;
      const [first, count] = name.split(" ");
      tx.set(people1.who, row, { name: `${first} ${Number(count) + 1}` });
    }),
  both: (db: Database, row: string) =>
    db.transact(async (tx) => {
      const { first, last } = (await tx.get(both.who, row))!;
      tx.set(both.who, row, { first, last: `${Number(last) + 1}` });
    }),
  new: (db: Database, row: string) =>
    db.transact(async (tx) => {
      const { first, last } = (await tx.get(people2.who, row))!;
      tx.set(people2.who, row, { first, last: `${Number(last) + 1}` });
    }),
};

describe.each(places)("programs of two versions, in %s", (_, place) => {
  const hot = ["p0", "p1", "p2"];
  const rounds = 20;

  /** Two programs add to the same people, at the same time. */
  async function addInBoth(
    location: string,
    programs: readonly (keyof typeof additions)[],
    beside: (db: Database) => Promise<void> = async () => undefined,
  ): Promise<void> {
    const opened = await Promise.all(programs.map(() => open(location, { observers: [] })));
    await Promise.all([
      ...programs.flatMap((program, i) =>
        hot.map(async (row) => {
          for (let round = 0; round < rounds; round++) await additions[program](opened[i]!, row);
        }),
      ),
      beside(opened[0]!),
    ]);
    await Promise.all(opened.map((db) => db.close()));
  }

  async function expectCounts(db: Database, wanted: number): Promise<void> {
    await using snapshot = await db.snapshot();
    for (const row of hot) expect((await snapshot.get(people2.who, row))?.last).toBe(String(wanted));
    expect(await db.check()).toEqual([]);
  }

  test("change the same rows, and no change is lost", async () => {
    await withPrograms(place, async (location) => {
      await using db = await open(location, { tables: [people1] });
      for (const row of hot) await writeOld(db, row, "First 0");
      await addInBoth(location, ["old", "both"]);
      await expectCounts(db, 2 * rounds);
      await addInBoth(location, ["both", "new"]);
      await expectCounts(db, 4 * rounds);
    });
  });

  test("change rows that a migration rewrites at the same time, which is run again at the end", async () => {
    await withPrograms(place, async (location) => {
      await using db = await open(location, { tables: [people2] });
      for (const row of hot) await writeOld(db, row, "First 0");
      let migrations = 0;
      await addInBoth(location, ["both", "new"], async (beside) => {
        for (; migrations < 5; migrations++)
          expect(await beside.migrate([people2])).toMatchObject([{ failed: 0 }]);
      });
      expect(migrations).toBe(5);
      await expectCounts(db, 2 * rounds);
      await db.migrate([people2]);
      expect(await db.migrate([people2], { check: true })).toMatchObject([{ changed: 0 }]);
      await expectCounts(db, 2 * rounds);
    });
  });

  test("retype a column, and programs of two neighbouring deploys add to the same rows", async () => {
    await withPrograms(place, async (location) => {
      const old = table("orders", { total: int() });
      const orders = table("orders", { total: int(), totalExact: float() });
      const renamed = table("orders", { total: storedAs("totalExact", float()) });
      const retype = observer("retype-total", orders.total, (tx, { row, value }) => {
        if (value === undefined) tx.delete(orders.totalExact, row);
        else tx.set(orders.totalExact, row, value);
      });
      const setBoth = (tx: Transaction, row: string, total: number) => {
        tx.set(orders.total, row, total);
        tx.set(orders.totalExact, row, total);
      };
      /** What the programs of each deploy do to add 1. */
      const deploys: readonly ((tx: Transaction, row: string) => Promise<void>)[] = [
        async (tx, row) => tx.set(old.total, row, ((await tx.get(old.total, row)) ?? 0) + 1),
        async (tx, row) => setBoth(tx, row, ((await tx.get(orders.total, row)) ?? 0) + 1),
        async (tx, row) => setBoth(tx, row, ((await tx.get(orders.totalExact, row)) ?? 0) + 1),
        async (tx, row) => tx.set(renamed.total, row, ((await tx.get(renamed.total, row)) ?? 0) + 1),
      ];
      const add = async (db: Database, deploy: number) => {
        for (let round = 0; round < rounds; round++)
          await Promise.all(hot.map((row) => db.transact((tx) => deploys[deploy]!(tx, row))));
      };
      const [one, other] = [await open(location), await open(location)];
      let added = 0;
      /** Programs of one deploy, and of the one before, at the same time. */
      const addBoth = async (deploy: number) => {
        await Promise.all([add(one, deploy - 1), add(other, deploy)]);
        added += 2 * rounds;
      };
      const expectTotals = async (column: Column<number>) => {
        await using snapshot = await one.snapshot();
        for (const row of hot) expect(await snapshot.get(column, row)).toBe(added);
      };

      await add(one, 0);
      added += rounds;
      const worker = await open(location, { observers: [retype] });
      worker.work();
      await Promise.all([addBoth(1), worker.backfill("retype-total")]);
      await expectTotals(orders.total);
      await worker.idle();
      await expectTotals(orders.totalExact);
      for (const db of [one, other]) {
        await db.transact((tx) => setBoth(tx, "gone", 1));
        await db.transact((tx) => {
          tx.delete(orders.total, "gone");
          tx.delete(orders.totalExact, "gone");
        });
      }
      await addBoth(2);
      await worker.idle();
      await using deleted = await one.snapshot();
      expect([await deleted.get(orders.total, "gone"), await deleted.get(orders.totalExact, "gone")]).toEqual(
        [undefined, undefined],
      );
      await expectTotals(orders.totalExact);
      await worker.close();
      await one.unregister("retype-total");
      await addBoth(3);
      await expectTotals(orders.totalExact);
      expect(await one.drop({ table: "orders", column: "total" })).toMatchObject({ removed: hot.length });
      await add(other, 3);
      added += rounds;
      await expectTotals(renamed.total);
      expect(await one.check()).toEqual([]);
      await other.close();
      await one.close();
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
