import { describe, expect, test } from "vitest";
import { everyVariant } from "../support/databases.js";
import { committedRows, numbers, outcomeOf, rowsWhere, valueAt, withCase } from "./recorded.js";

/*
 * The cases of Hermitage (Kleppmann, https://github.com/ept/hermitage), by their names there.
 * Writes are buffered until the commit, so transactions do not wait for each other. In cases in
 * which Hermitage's databases block, here the later commit conflicts.
 */

describe.each(everyVariant)("$store, commit $commit", (variant) => {
  test("G0, write cycles: the writes of two transactions do not mix", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      one.set(numbers.value, "1", 11);
      two.set(numbers.value, "1", 12);
      one.set(numbers.value, "2", 21);
      expect(await outcomeOf(one.commit())).toBe("committed");
      expect(await committedRows(db)).toEqual({ 1: 11, 2: 21 });
      two.set(numbers.value, "2", 22);
      expect(await outcomeOf(two.commit())).toBe("conflict");
      expect(await committedRows(db)).toEqual({ 1: 11, 2: 21 });
    }));

  test("G0: of two that commit at once, one writes everything and the other nothing", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      one.set(numbers.value, "1", 11);
      two.set(numbers.value, "2", 22);
      two.set(numbers.value, "1", 12);
      one.set(numbers.value, "2", 21);
      const outcomes = await Promise.all([outcomeOf(one.commit()), outcomeOf(two.commit())]);
      const expected = {
        committed: { conflict: { 1: 11, 2: 21 }, committed: undefined },
        conflict: { committed: { 1: 12, 2: 22 }, conflict: { 1: 10, 2: 20 } },
      }[outcomes[0]][outcomes[1]];
      expect(await committedRows(db)).toEqual(expected);
    }));

  test("G1a, aborted reads: a write that is rolled back is never seen", () =>
    withCase(variant, async ({ begin }) => {
      const [one, two] = [await begin(), await begin()];
      one.set(numbers.value, "1", 101);
      expect(await rowsWhere(two)).toEqual({ 1: 10, 2: 20 });
      await one.rollback();
      expect(await rowsWhere(two)).toEqual({ 1: 10, 2: 20 });
      await two.commit();
      expect(await valueAt(await begin(), "1")).toBe(10);
    }));

  test("G1b, intermediate reads: a value that its writer overwrites is never seen", () =>
    withCase(variant, async ({ begin }) => {
      const [one, two] = [await begin(), await begin()];
      one.set(numbers.value, "1", 101);
      expect(await rowsWhere(two)).toEqual({ 1: 10, 2: 20 });
      one.set(numbers.value, "1", 11);
      expect(await outcomeOf(one.commit())).toBe("committed");
      expect(await rowsWhere(two)).toEqual({ 1: 10, 2: 20 });
      await two.commit();
      expect(await rowsWhere(await begin())).toEqual({ 1: 11, 2: 20 });
    }));

  test("G1c, circular information flow: two concurrent transactions do not see each other", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      one.set(numbers.value, "1", 11);
      two.set(numbers.value, "2", 22);
      expect(await valueAt(one, "2")).toBe(20);
      expect(await valueAt(two, "1")).toBe(10);
      expect(await outcomeOf(one.commit())).toBe("committed");
      expect(await outcomeOf(two.commit())).toBe("committed");
      expect(await committedRows(db)).toEqual({ 1: 11, 2: 22 });
    }));

  test("OTV, observed transaction vanishes: a transaction that was seen stays visible", () =>
    withCase(variant, async ({ db, begin }) => {
      const one = await begin();
      const late = await begin();
      one.set(numbers.value, "1", 11);
      one.set(numbers.value, "2", 19);
      late.set(numbers.value, "1", 12);
      expect(await outcomeOf(one.commit())).toBe("committed");
      const reader = await begin();
      const two = await begin();
      expect(await valueAt(reader, "1")).toBe(11);
      late.set(numbers.value, "2", 18);
      expect(await outcomeOf(late.commit())).toBe("conflict");
      expect(await valueAt(reader, "2")).toBe(19);
      two.set(numbers.value, "1", 12);
      two.set(numbers.value, "2", 18);
      expect(await outcomeOf(two.commit())).toBe("committed");
      expect(await valueAt(reader, "2")).toBe(19);
      expect(await valueAt(reader, "1")).toBe(11);
      await reader.commit();
      expect(await committedRows(db)).toEqual({ 1: 12, 2: 18 });
    }));

  test("PMP, predicate-many-preceders: a running transaction does not see a row inserted later", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      expect(await rowsWhere(one, (value) => value === 30)).toEqual({});
      two.set(numbers.value, "3", 30);
      expect(await outcomeOf(two.commit())).toBe("committed");
      expect(await rowsWhere(one, (value) => value % 3 === 0)).toEqual({});
      await one.commit();
      expect(await committedRows(db)).toEqual({ 1: 10, 2: 20, 3: 30 });
    }));

  test("PMP, for writes: a delete by a predicate that another transaction has changed conflicts", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      for (const [row, value] of Object.entries(await rowsWhere(one))) {
        one.set(numbers.value, row, value + 10);
      }
      for (const row of Object.keys(await rowsWhere(two, (value) => value === 20))) {
        two.delete(numbers.value, row);
      }
      expect(await outcomeOf(one.commit())).toBe("committed");
      expect(await rowsWhere(two, (value) => value === 20)).toEqual({});
      expect(await outcomeOf(two.commit())).toBe("conflict");
      expect(await committedRows(db)).toEqual({ 1: 20, 2: 30 });
    }));

  test("P4, lost update: of two that read and write a row, the second conflicts", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      expect(await valueAt(one, "1")).toBe(10);
      expect(await valueAt(two, "1")).toBe(10);
      one.set(numbers.value, "1", 11);
      two.set(numbers.value, "1", 12);
      expect(await outcomeOf(one.commit())).toBe("committed");
      expect(await outcomeOf(two.commit())).toBe("conflict");
      expect(await committedRows(db)).toEqual({ 1: 11, 2: 20 });
    }));

  test("G-single, read skew: a reader sees both rows as before", () =>
    withCase(variant, async ({ begin }) => {
      const [one, two] = [await begin(), await begin()];
      expect(await valueAt(one, "1")).toBe(10);
      expect(await rowsWhere(two)).toEqual({ 1: 10, 2: 20 });
      two.set(numbers.value, "1", 12);
      two.set(numbers.value, "2", 18);
      expect(await outcomeOf(two.commit())).toBe("committed");
      expect(await valueAt(one, "2")).toBe(20);
      await one.commit();
    }));

  test("G-single, predicate dependencies: another predicate is answered as of the same moment", () =>
    withCase(variant, async ({ begin }) => {
      const [one, two] = [await begin(), await begin()];
      expect(await rowsWhere(one, (value) => value % 5 === 0)).toEqual({ 1: 10, 2: 20 });
      for (const row of Object.keys(await rowsWhere(two, (value) => value === 10))) {
        two.set(numbers.value, row, 12);
      }
      expect(await outcomeOf(two.commit())).toBe("committed");
      expect(await rowsWhere(one, (value) => value % 3 === 0)).toEqual({});
      await one.commit();
    }));

  test("G-single, write predicate 1: a delete based on a read before another's commit conflicts", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      expect(await valueAt(one, "1")).toBe(10);
      expect(await rowsWhere(two)).toEqual({ 1: 10, 2: 20 });
      two.set(numbers.value, "1", 12);
      two.set(numbers.value, "2", 18);
      expect(await outcomeOf(two.commit())).toBe("committed");
      expect(await rowsWhere(one, (value) => value === 20)).toEqual({ 2: 20 });
      await one.deleteRow(numbers, "2");
      expect(await outcomeOf(one.commit())).toBe("conflict");
      expect(await committedRows(db)).toEqual({ 1: 12, 2: 18 });
    }));

  test("G-single, write predicate 2: of a delete and an update of a row, the first one stays", () =>
    withCase(variant, async ({ db, begin }) => {
      const [one, two] = [await begin(), await begin()];
      expect(await valueAt(one, "1")).toBe(10);
      expect(await rowsWhere(two)).toEqual({ 1: 10, 2: 20 });
      two.set(numbers.value, "1", 12);
      expect(await rowsWhere(one, (value) => value === 20)).toEqual({ 2: 20 });
      one.delete(numbers.value, "2");
      two.set(numbers.value, "2", 18);
      expect(await outcomeOf(one.commit())).toBe("committed");
      expect(await outcomeOf(two.commit())).toBe("conflict");
      expect(await committedRows(db)).toEqual({ 1: 10 });
    }));

  describe.each([
    { isolation: "snapshot", second: "committed" },
    { isolation: "serializable", second: "conflict" },
  ] as const)("$isolation", ({ isolation, second }) => {
    test(`G2-item, write skew: the second is ${second}`, () =>
      withCase(variant, async ({ db, begin }) => {
        const [one, two] = [await begin({ isolation }), await begin({ isolation })];
        expect(await one.getMany(numbers.value, ["1", "2"])).toEqual([10, 20]);
        expect(await two.getMany(numbers.value, ["1", "2"])).toEqual([10, 20]);
        one.set(numbers.value, "1", 11);
        two.set(numbers.value, "2", 21);
        expect(await outcomeOf(one.commit())).toBe("committed");
        expect(await outcomeOf(two.commit())).toBe(second);
        expect(await committedRows(db)).toEqual({ 1: 11, 2: second === "committed" ? 21 : 20 });
      }));

    test(`G2, anti-dependency cycle by predicates: the second is ${second}`, () =>
      withCase(variant, async ({ db, begin }) => {
        const [one, two] = [await begin({ isolation }), await begin({ isolation })];
        expect(await rowsWhere(one, (value) => value % 3 === 0)).toEqual({});
        expect(await rowsWhere(two, (value) => value % 3 === 0)).toEqual({});
        one.set(numbers.value, "3", 30);
        two.set(numbers.value, "4", 42);
        expect(await outcomeOf(one.commit())).toBe("committed");
        expect(await outcomeOf(two.commit())).toBe(second);
        const found = second === "committed" ? { 3: 30, 4: 42 } : { 3: 30 };
        const reader = await begin();
        expect(await rowsWhere(reader, (value) => value % 3 === 0)).toEqual(found);
        expect(await committedRows(db)).toEqual({ 1: 10, 2: 20, ...found });
      }));

    test(`G2, two anti-dependency edges (Fekete's read-only anomaly): the writer that has read is ${second}`, () =>
      withCase(variant, async ({ begin }) => {
        const one = await begin({ isolation });
        expect(await rowsWhere(one)).toEqual({ 1: 10, 2: 20 });
        const two = await begin({ isolation });
        expect(await valueAt(two, "2")).toBe(20);
        two.set(numbers.value, "2", 25);
        expect(await outcomeOf(two.commit())).toBe("committed");
        const three = await begin({ isolation });
        expect(await rowsWhere(three)).toEqual({ 1: 10, 2: 25 });
        expect(await outcomeOf(three.commit())).toBe("committed");
        one.set(numbers.value, "1", 0);
        expect(await outcomeOf(one.commit())).toBe(second);
      }));
  });
});
