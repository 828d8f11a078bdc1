import { describe, expect, test } from "vitest";
import { countHints, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { columnPath } from "../../schema/index.js";
import { readHints } from "../hint/hint.js";
import { discardParked, listParked, observer, type ParkedChange, retryParked } from "../index.js";

const start = databasesOf({}, { mayFail: true });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const quickly = { initialMs: 1, maximumMs: 2 };

describe.each(["one-phase", "two-phase"] as const)("parked changes, committing in %s", (commit) => {
  test("after the last attempt a change is parked, and everything else continues", async () => {
    const failing = observer(
      "failing",
      documents.contents,
      (tx, { row, value }) => {
        if (value === "bad") throw new TypeError(`cannot do ${row}`);
        tx.set(documents.length, row, 1);
      },
      { attempts: 2, backoff: quickly },
    );
    const db = await start({ commit, observers: [failing] });
    await db.transact((tx) => {
      tx.set(documents.contents, "a", "bad");
      tx.set(documents.contents, "b", "good");
    });
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.length, "b"))).toBe(1);
    expect(await countHints(db.store)).toEqual({});
    const parked = await all(listParked(db.registry));
    expect(parked).toHaveLength(1);
    expect(parked[0]).toMatchObject({
      observer: "failing",
      row: "a",
      column: "contents",
      attempts: 2,
      error: { name: "TypeError", message: "cannot do a" },
    });
    expect(parked[0]!.error.stack).toContain("parking.test.ts");
  });

  test("are listed page by page, also behind a change that is no longer parked", async () => {
    const refuse = () => {
      throw new Error("no");
    };
    const options = { attempts: 1, backoff: quickly };
    const observers = ["first", "second"].map((name) => observer(name, documents.contents, refuse, options));
    const db = await start({ commit, observers });
    await db.transact((tx) => {
      for (const row of ["a", "b", "c"]) tx.set(documents.contents, row, "x");
    });
    await db.pool.drain();
    const list = await all(listParked(db.registry));
    const names = (changes: readonly ParkedChange[]) => changes.map((each) => `${each.observer} ${each.row}`);
    expect(names(list)).toEqual(["first a", "first b", "first c", "second a", "second b", "second c"]);
    const behind = async (after: ParkedChange, of?: string) =>
      names(await all(listParked(db.registry, { after, observer: of })));
    for (const [index, change] of list.entries()) {
      expect(await behind(change)).toEqual(names(list).slice(index + 1));
      const own = names(list).slice(index + 1);
      expect(await behind(change, "second")).toEqual(own.filter((name) => name.startsWith("second")));
    }
    await discardParked(db.registry, list[1]!);
    await discardParked(db.registry, list[2]!);
    expect(await behind(list[1]!)).toEqual(names(list).slice(3));
    expect(await behind(list[0]!, "first")).toEqual([]);
    const gone = { ...list[4]!, observer: "gone" };
    expect(await behind(gone)).toEqual(names(list).slice(3));
  });

  test("a later change of a parked cell is due again, and a success removes it from the list", async () => {
    const failing = observer(
      "failing",
      documents.contents,
      (tx, { row, value }) => {
        if (value === "bad") throw new Error("bad");
        tx.set(documents.length, row, 1);
      },
      { attempts: 1 },
    );
    const db = await start({ commit, observers: [failing] });
    await db.transact((tx) => tx.set(documents.contents, "a", "bad"));
    await db.pool.drain();
    expect(await all(listParked(db.registry))).toHaveLength(1);
    await db.transact((tx) => tx.set(documents.contents, "a", "good"));
    await db.pool.drain();
    expect(await all(listParked(db.registry))).toEqual([]);
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(1);
  });

  test("`retry` makes a parked change due again, `discard` marks it as handled", async () => {
    let broken = true;
    const failing = observer(
      "failing",
      documents.anchors,
      (tx, { row, qualifier }) => {
        if (broken) throw new Error("broken");
        tx.set(documents.anchorLengths.at(qualifier), row, 1);
      },
      { attempts: 1 },
    );
    const db = await start({ commit, observers: [failing] });
    await db.transact((tx) => {
      tx.set(documents.anchors.at("retried"), "a", "x");
      tx.set(documents.anchors.at("discarded"), "a", "x");
    });
    await db.pool.drain();
    const parked = await all(listParked(db.registry));
    expect(parked.map((each) => each.qualifier)).toEqual(["discarded", "retried"]);
    broken = false;
    expect(await discardParked(db.registry, parked[0]!)).toBe(true);
    // The parked change after a round trip through JSON, as from a command line.
    const again = JSON.parse(JSON.stringify(parked[1]!)) as ParkedChange;
    expect(await retryParked(db.registry, again)).toBe(true);
    expect(await retryParked(db.registry, parked[1]!)).toBe(false);
    expect(await discardParked(db.registry, parked[0]!)).toBe(false);
    await db.pool.drain();
    const row = await db.transact((tx) => tx.row(documents, "a"));
    expect([...row!.anchorLengths]).toEqual([["retried", 1]]);
    expect(await all(listParked(db.registry))).toEqual([]);
  });

  test("a failing observer of a signal is parked, retried and discarded", async () => {
    let broken = true;
    const failing = observer(
      "failing",
      documents.poke,
      (tx, { row }) => {
        if (broken) throw new Error("broken");
        tx.set(documents.poked, row, 1);
      },
      { attempts: 2, backoff: quickly },
    );
    const db = await start({ commit, observers: [failing] });
    await db.transact((tx) => {
      tx.notify(documents.poke, "a");
      tx.notify(documents.poke, "b");
    });
    await db.pool.drain();
    const parked = await all(listParked(db.registry));
    expect(parked.map((each) => each.row)).toEqual(["a", "b"]);
    broken = false;
    await retryParked(db.registry, parked[0]!);
    await discardParked(db.registry, parked[1]!);
    await db.pool.drain();
    expect(await db.transact((tx) => tx.getMany(documents.poked, ["a", "b"]))).toEqual([1, undefined]);
    expect(await all(listParked(db.registry))).toEqual([]);
    await db.transact((tx) => tx.notify(documents.poke, "b"));
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.poked, "b"))).toBe(1);
  });

  test("the change of a damaged cell is parked, retried and discarded", async () => {
    const reading = observer("reading", documents.contents, () => {}, { attempts: 2, backoff: quickly });
    const db = await start({ commit, observers: [reading] });
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    const [hint] = (await readHints(db.store, { start: undefined, end: undefined }, 10)).hints;
    const damaged = { column: columnPath("contents"), part: "write", timestamp: hint!.timestamp } as const;
    await db.store.mutate({
      table: "documents",
      row: Buffer.from("a"),
      guards: [],
      mutations: [{ type: "put", ...damaged, value: Buffer.of(99) }],
    });
    await db.pool.drain();
    const [parked] = await all(listParked(db.registry));
    expect(parked).toMatchObject({ row: "a", error: { code: "STORE_DAMAGED" } });
    expect(await retryParked(db.registry, parked!)).toBe(true);
    await db.pool.drain();
    expect(db.runs.map(({ outcome }) => outcome)).toEqual([
      "failed",
      "failed",
      "parked",
      "failed",
      "failed",
      "parked",
    ]);
    expect(await discardParked(db.registry, parked!)).toBe(true);
    expect(await all(listParked(db.registry))).toEqual([]);
  });

  test("parking leaves a newer change alone", async () => {
    const holder: { db?: TestDatabase } = {};
    const failing = observer(
      "failing",
      documents.contents,
      async (tx, { row, value }) => {
        if (value === "bad") {
          await holder.db!.transact((inner) => inner.set(documents.contents, row, "good"));
          throw new Error("bad");
        }
        tx.set(documents.length, row, 1);
      },
      { attempts: 1 },
    );
    const db = await start({ commit, observers: [failing] });
    holder.db = db;
    await db.transact((tx) => tx.set(documents.contents, "a", "bad"));
    await db.pool.drain();
    expect(db.runs.map((run) => run.outcome)).toEqual(["failed", "parked", "committed"]);
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(1);
    expect(await all(listParked(db.registry))).toEqual([]);
  });
});
