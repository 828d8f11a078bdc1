import { int, json, observer, open, table, text, tuple } from "percolatordb";
import { TestClock } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { gather } from "../../test/support/gather.js";
import {
  combineQueue,
  derive,
  eventualIndex,
  exactIndex,
  exportQueue,
  schedule,
  uniqueConstraint,
} from "./index.js";

/**
 * Recipes and observers give decoded values and keys to functions of the program. Even if the
 * program changes them, stored data must not change. Each function in these tests modifies
 * everything that it receives.
 */

interface Counted {
  n: number;
  tags: string[];
}

type PairKey = readonly [string, string];
const pairKey = tuple(text(), text());

/** Changes a key, which only a program that casts `readonly` away can do. */
function spoilKey(key: PairKey): void {
  (key as unknown as string[])[0] = "spoiled";
}

function spoil(value: Counted | undefined): void {
  if (value === undefined) return;
  value.n = -1;
  value.tags.length = 0;
}

describe("a combine queue", () => {
  test("writes the result of `combine`, even if that modified its first argument in place", async () => {
    const seen: unknown[] = [];
    const queue = combineQueue("sums", {
      key: pairKey,
      value: json<{ n: number }>(),
      update: json<{ by: number }>(),
      combine: (value, updates, key) => {
        const sum = value ?? { n: 0 };
        for (const update of updates) {
          sum.n += update.by;
          update.by = 0;
        }
        spoilKey(key);
        return sum;
      },
      onChange: (_, changes) => {
        for (const { key, previous, value } of changes) seen.push([key, previous?.n, value?.n]);
      },
    });
    await using db = await open("memory:", { tables: queue.tables, observers: [queue.observer] });
    for (let n = 0; n < 10; n++) {
      await db.transact((tx) => queue.add(tx, ["a", "b"], { by: 1 }));
      await db.drain();
    }
    expect(await db.transact((tx) => tx.get(queue.values, ["a", "b"]))).toEqual({ n: 10 });
    const expected = Array.from({ length: 10 }, (_, n) => [["a", "b"], n === 0 ? undefined : n, n + 1]);
    expect(seen).toEqual(expected);
  });
});

describe.each(["exact", "eventual"] as const)("an %s index", (kind) => {
  test("and the column keep their values if `of` modifies its argument", async () => {
    const rows = table("rows", { value: json<Counted>() }, { key: pairKey });
    const options = {
      by: text(),
      of: (value: Counted, key: PairKey) => {
        const tags = value.tags.slice();
        spoil(value);
        spoilKey(key);
        return tags;
      },
    };
    const exact = exactIndex("by_tag", rows.value, options);
    const eventual = eventualIndex("by_tag", rows.value, options);
    const observers = kind === "exact" ? [] : [eventual.observer];
    const index = kind === "exact" ? exact : eventual;
    await using db = await open("memory:", { tables: [rows, index.table], observers });
    for (const tags of [
      ["x", "y"],
      ["y", "z"],
    ]) {
      await db.transact(async (tx) => {
        const value = { n: 1, tags: [...tags] };
        if (kind === "exact") await exact.set(tx, ["a", "b"], value);
        else tx.set(rows.value, ["a", "b"], value);
      });
      await db.drain();
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(rows.value, ["a", "b"])).toEqual({ n: 1, tags });
      const entries = await gather(index.range(snapshot));
      expect(entries).toEqual(tags.map((by) => ({ by, row: ["a", "b"] })));
    }
  });
});

describe("a derivation", () => {
  const source = table("source", { day: text(), n: int() }, { key: pairKey });
  const spoiled = <T>(key: PairKey, result: T): T => {
    spoilKey(key);
    return result;
  };
  const counts = derive("counts", {
    from: source,
    key: [text()],
    groupBy: ({ day }, key) => spoiled(key, [day] as const),
    count: true,
    top: { n: 9, by: ({ n }, key) => spoiled(key, n) },
  });
  const index = derive("index", {
    from: source,
    key: [text()],
    index: ({ day }, key) => spoiled(key, day === undefined ? [] : [[day] as const]),
  });
  const joined = derive("joined", {
    from: source,
    leftJoin: source,
    on: ({ day }, key) => spoiled(key, ["right", day!] as const),
    columns: { day: text() },
    select: ({ day }, _, key) => spoiled(key, { day }),
  });
  const all = [counts, index, joined];

  test("stays right if its functions change the keys that they are given", async () => {
    const tables = [source, ...all.flatMap(({ tables }) => tables)];
    const observers = all.flatMap(({ observers }) => observers);
    await using db = await open("memory:", { tables, observers });
    for (const day of ["monday", "tuesday"]) {
      await db.transact((tx) => {
        tx.set(source.day, ["a", "1"], day);
        tx.set(source.n, ["a", "1"], 1);
      });
      await db.drain();
    }
    await using snapshot = await db.snapshot();
    const top = [{ by: 1, row: '["a","1"]' }];
    expect(await gather(snapshot.scan(counts.table))).toEqual([
      { row: ["tuesday"], value: { count: 1, top } },
    ]);
    expect(await gather(snapshot.scan(index.table))).toEqual([
      { row: ["tuesday", "a", "1"], value: { entry: true } },
    ]);
    expect(await gather(snapshot.scan(joined.table))).toEqual([
      { row: ["a", "1"], value: { day: "tuesday" } },
    ]);
  });
});

test("a unique constraint copies its value when it is called, and stores it whatever `by` modifies", async () => {
  const rows = table("rows", { value: json<Counted>() });
  const unique = uniqueConstraint("tags", rows.value, {
    by: (value) => {
      const key = value.tags.join();
      spoil(value);
      return key;
    },
  });
  await using db = await open("memory:", { tables: [rows, unique.table] });
  await db.transact(async (tx) => {
    const value = { n: 1, tags: ["x"] };
    const setting = unique.set(tx, "a", value);
    value.n = 2;
    await setting;
  });
  expect(await db.transact((tx) => tx.get(rows.value, "a"))).toEqual({ n: 1, tags: ["x"] });
  const wanted = { n: 0, tags: ["x"] };
  expect(await db.transact((tx) => unique.find(tx, wanted))).toBe("a");
  expect(wanted).toEqual({ n: 0, tags: ["x"] });
  await db.transact((tx) => unique.set(tx, "a", { n: 3, tags: ["y"] }));
  expect(await db.transact((tx) => unique.find(tx, { n: 0, tags: ["x"] }))).toBeUndefined();
});

test("an index throws before it writes anything, so a program that catches the error commits no partial write", async () => {
  const rows = table("rows", { value: json<Counted>() });
  const index = exactIndex("by_tag", rows.value, {
    by: text(),
    *of({ tags }) {
      for (const tag of tags) {
        if (tag === "bad") throw new Error("No such tag.");
        yield tag;
      }
    },
  });
  await using db = await open("memory:", { tables: [rows, index.table] });
  await db.transact((tx) => index.set(tx, "a", { n: 1, tags: ["x"] }));
  await db.transact(async (tx) => {
    await expect(index.set(tx, "a", { n: 2, tags: ["y", "bad"] })).rejects.toThrow("No such tag.");
  });
  await using snapshot = await db.snapshot();
  expect(await gather(index.range(snapshot))).toEqual([{ by: "x", row: "a" }]);
  expect(await snapshot.get(rows.value, "a")).toEqual({ n: 1, tags: ["x"] });
});

test("a retried delivery gets the original entries, and only its own key's entries are removed", async () => {
  const delivered: unknown[] = [];
  const sequences = new Map<string, number>();
  let failures = 3;
  const queue = exportQueue("queue", {
    key: pairKey,
    value: json<Counted>(),
    observer: { backoff: { initialMs: 1, maximumMs: 1 } },
    deliver: (entries) => {
      const shown = entries.map(({ key, sequence, value }) =>
        JSON.stringify([key, sequences.get(key.join()) === sequence, value]),
      );
      for (const entry of entries) {
        spoil(entry.value);
        spoilKey(entry.key);
        Object.assign(entry, { sequence: 100 });
      }
      if (failures-- > 0) throw new Error("Not now.");
      delivered.push(...shown);
    },
  });
  await using db = await open("memory:", { tables: queue.tables, observers: [queue.observer] });
  const keys: PairKey[] = [
    ["a", "1"],
    ["a", "2"],
    ["a", "3"],
    ["a", "4"],
  ];
  await db.transact(async (tx) => {
    for (const key of keys) {
      const value = { n: 7, tags: ["t"] };
      const adding = queue.add(tx, key, value);
      spoil(value);
      sequences.set(key.join(), await adding);
    }
  });
  await db.drain();
  const expected = keys.map((key) => JSON.stringify([key, true, { n: 7, tags: ["t"] }]));
  expect(new Set(delivered)).toEqual(new Set(expected));
  await using snapshot = await db.snapshot();
  for (const key of keys) expect(await queue.waiting(snapshot, key)).toBe(0);
});

test("a scheduled change that modifies its value and throws is postponed, parked, retried and fired with the original value", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const fired: unknown[] = [];
  let failures = 3;
  const later = schedule("later", {
    key: pairKey,
    value: json<Counted>(),
    attempts: 2,
    environment,
    fire: (_, change) => {
      const shown = JSON.stringify([change.key, change.value]);
      spoil(change.value);
      spoilKey(change.key);
      if (failures-- > 0) throw new Error("Not now.");
      fired.push(shown);
    },
  });
  await using db = await open("memory:", { tables: later.tables, environment });
  await clock.until(
    db.transact(async (tx) => {
      const value = { n: 7, tags: ["t"] };
      const scheduling = later.after(tx, ["a", "b"], 0, value);
      spoil(value);
      await scheduling;
    }),
  );
  for (let n = 0; n < 2; n++) {
    await clock.until(later.fireDue(db));
    await clock.advance(60_000);
  }
  await using snapshot = await clock.until(db.snapshot());
  expect((await clock.until(gather(later.parked(snapshot)))).map(({ key }) => key)).toEqual([["a", "b"]]);
  await clock.until(db.transact((tx) => later.retry(tx, ["a", "b"])));
  for (let n = 0; n < 2; n++) {
    await clock.until(later.fireDue(db));
    await clock.advance(60_000);
  }
  expect(fired).toEqual([JSON.stringify([["a", "b"], { n: 7, tags: ["t"] }])]);
});

test("each observer of a column, and each attempt, gets the committed value", async () => {
  const rows = table("rows", { value: json<Counted>() }, { key: pairKey });
  const seen: unknown[] = [];
  const watching = (name: string) => {
    let failures = 1;
    return observer(
      name,
      rows.value,
      (tx, { row, value, previous }) => {
        seen.push(JSON.stringify([name, row, value, previous ?? null]));
        spoil(value);
        spoil(previous);
        spoilKey(row);
        if (failures-- > 0) throw new Error("Not now.");
        return tx.get(rows.value, ["a", "b"]).then((read) => expect(read?.tags).toEqual(["t"]));
      },
      { backoff: { initialMs: 1, maximumMs: 1 } },
    );
  };
  await using db = await open("memory:", { tables: [rows], observers: [watching("one"), watching("two")] });
  for (const n of [1, 2]) {
    await db.transact((tx) => tx.set(rows.value, ["a", "b"], { n, tags: ["t"] }));
    await db.drain();
  }
  const of = (name: string, n: number, previous: number | undefined) =>
    JSON.stringify([
      name,
      ["a", "b"],
      { n, tags: ["t"] },
      previous === undefined ? null : { n: previous, tags: ["t"] },
    ]);
  for (const name of ["one", "two"]) {
    const own = seen.filter((shown) => (shown as string).startsWith(`["${name}"`));
    expect(own).toEqual([of(name, 1, undefined), of(name, 1, undefined), of(name, 2, 1)]);
  }
  expect(await gather(db.parked())).toEqual([]);
});
