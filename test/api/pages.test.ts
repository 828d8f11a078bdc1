import { family, int, table, text, tuple } from "percolatordb";
import { exactIndex } from "percolatordb/recipes";
import { describe, expect, test } from "vitest";
import { engines, withDatabase } from "../support/databases.js";
import { gather } from "../support/gather.js";

const people = table("people", { age: int(), rank: int(), emails: family(text()) });
const visits = table("visits", { seconds: int() }, { key: tuple(text(), int()) });
const byAge = exactIndex("by_age", people.age, { by: int(), of: (age) => [age] });

const labels = table("labels", { label: text() });

const names = ["a", "b", "b\0", "bb", "c", "d"];
/** The longest key that is allowed. */
const longest = "z".repeat(1_500);

describe.each(engines)("pages on $store, commit $commit", (variant) => {
  test("of a scan, of a family's cells and of an index begin behind the last one of the page before", async () => {
    await withDatabase(variant, { tables: [people, visits, labels, byAge.table] }, async (db) => {
      await db.transact(async (tx) => {
        for (const [index, name] of names.entries()) {
          await byAge.set(tx, name, index % 2);
          tx.set(people.rank, name, index);
          tx.set(visits.seconds, ["b", index], index);
        }
        for (const each of ["y", longest]) tx.set(labels.label, each, "");
        for (const each of ["work", "home", "other"]) tx.set(people.emails.at(each), "a", each);
      });
      await db.transact(async (tx) => {
        const keys = async (options: object) =>
          (await gather(tx.scan(people.rank, options))).map(({ row }) => row);
        expect(await keys({ after: "b", limit: 2 })).toEqual(["b\0", "bb"]);
        expect(await keys({ after: "b", limit: 2, reverse: true })).toEqual(["a"]);
        // No row has this key.
        expect(await keys({ after: "bc" })).toEqual(["c", "d"]);
        expect(await keys({ after: "d" })).toEqual([]);
        expect(await keys({ after: "d", reverse: true, limit: 1 })).toEqual(["c"]);
        expect(await gather(tx.scan(labels, { after: longest }))).toEqual([]);
        const before = await gather(tx.scan(labels, { after: longest, reverse: true }));
        expect(before.map(({ row }) => row)).toEqual(["y"]);
        expect(await keys({ after: "a", prefix: "b", end: "bb" })).toEqual(["b", "b\0"]);
        expect(await keys({ after: "a", start: "bb" })).toEqual(["bb", "c", "d"]);
        expect(await keys({ after: "c", end: "b" })).toEqual([]);
        // What this transaction has written and deleted itself.
        tx.set(people.rank, "ba", 7);
        tx.delete(people.rank, "c");
        expect(await keys({ after: "b\0" })).toEqual(["ba", "bb", "d"]);

        const parts = await gather(tx.scan(visits.seconds, { prefix: ["b"], after: ["b", 3] }));
        expect(parts.map(({ row }) => row[1])).toEqual([4, 5]);

        const emails = async (options: object) =>
          (await gather(tx.entries(people.emails, "a", options))).map(({ qualifier }) => qualifier);
        expect(await emails({ after: "home", limit: 1 })).toEqual(["other"]);
        expect(await emails({ after: "work" })).toEqual([]);
        expect(await emails({ after: "h", prefix: "h" })).toEqual(["home"]);
      });
      await using snapshot = await db.snapshot();
      const first = await gather(byAge.range(snapshot, { limit: 2 }));
      const rest = await gather(byAge.range(snapshot, { after: first.at(-1) }));
      expect([...first, ...rest]).toEqual(await gather(byAge.range(snapshot)));
      expect(first.length + rest.length).toBe(names.length);
      const back = await gather(byAge.range(snapshot, { after: first[1], reverse: true }));
      expect(back).toEqual([first[0]]);
      const odd = await gather(byAge.find(snapshot, 1));
      expect(await gather(byAge.find(snapshot, 1, { after: odd[0]! }))).toEqual(odd.slice(1));
    });
  });
});
