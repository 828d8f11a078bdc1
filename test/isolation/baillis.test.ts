import { boolean, family, int, type Snapshot, type Transaction, table, text } from "percolatordb";
import type { StepName } from "percolatordb/testing";
import { StepHooks } from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { everyVariant } from "../support/databases.js";
import { numbers, outcomeOf, rowsWhere, valueAt, withCase } from "./recorded.js";

/*
 * The anomalies of Bailis et al., "Highly Available Transactions: Virtues and Limitations" (VLDB
 * 2014), by their names there. Leaves out those that Hermitage's cases contain. What remains are
 * anomalies between the transactions of a session, and anomalies within one transaction.
 */

const notes = table("notes", { title: text(), done: boolean(), tags: family(int()) });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe.each(everyVariant)("$store, commit $commit", (variant) => {
  describe("within a transaction", () => {
    test("IMP, item-many-preceders: a row read again is the same", () =>
      withCase(variant, async ({ begin }) => {
        const reader = await begin();
        expect(await valueAt(reader, "1")).toBe(10);
        for (const value of [11, 12, 13]) {
          const writer = await begin();
          writer.set(numbers.value, "1", value);
          await writer.commit();
          expect(await valueAt(reader, "1")).toBe(10);
          expect(await reader.getMany(numbers.value, ["1", "2"])).toEqual([10, 20]);
        }
        expect(await valueAt(await begin(), "1")).toBe(13);
      }));

    test("PMP, predicate-many-preceders: a range read again has the same rows", () =>
      withCase(variant, async ({ begin }) => {
        const reader = await begin();
        expect(await rowsWhere(reader)).toEqual({ 1: 10, 2: 20 });
        const writer = await begin();
        writer.set(numbers.value, "0", 5);
        writer.delete(numbers.value, "1");
        writer.set(numbers.value, "3", 30);
        await writer.commit();
        expect(await rowsWhere(reader)).toEqual({ 1: 10, 2: 20 });
        expect(await all(reader.scan(numbers, { reverse: true }))).toEqual([
          { row: "2", value: { value: 20 } },
          { row: "1", value: { value: 10 } },
        ]);
        expect(await rowsWhere(await begin())).toEqual({ 0: 5, 2: 20, 3: 30 });
      }));

    test("OTV and fractured reads: a scan over many pages shows one moment, whatever commits meanwhile", () =>
      withCase(variant, async ({ begin }) => {
        const rows = Array.from({ length: 300 }, (_, at) => `many${String(at).padStart(4, "0")}`);
        const write = async (value: number) => {
          const writer = await begin();
          for (const row of rows) writer.set(numbers.value, row, value);
          await writer.commit();
        };
        await write(1);
        const reader = await begin();
        const values: number[] = [];
        for await (const { value } of reader.scan(numbers.value, { prefix: "many" })) {
          if (values.length % 100 === 0) await write(2 + values.length);
          values.push(value);
        }
        expect(values).toEqual(rows.map(() => 1));
      }));

    test("lost update: concurrent increments all count", () =>
      withCase(variant, async ({ db, recorder, begin }) => {
        const clients = Array.from({ length: 10 }, (_, at) => recorder.client(`incrementing ${at}`));
        const increment = async (tx: Transaction) =>
          tx.set(numbers.value, "1", (await valueAt(tx, "1"))! + 1);
        await Promise.all(clients.map((client) => client.transact(db, increment)));
        expect(await valueAt(await begin(), "1")).toBe(20);
      }));

    test("write skew: happens under snapshot, and not under serializable", () =>
      withCase(variant, async ({ begin }) => {
        for (const isolation of ["snapshot", "serializable"] as const) {
          const [one, two] = [await begin({ isolation }), await begin({ isolation })];
          one.set(numbers.value, "1", (await valueAt(one, "2"))! + 1);
          two.set(numbers.value, "2", (await valueAt(two, "1"))! + 1);
          const outcomes = [await outcomeOf(one.commit()), await outcomeOf(two.commit())];
          expect(outcomes).toEqual(["committed", isolation === "snapshot" ? "committed" : "conflict"]);
        }
      }));

    test("internal consistency: every kind of read sees own writes, and other transactions do not", () =>
      withCase(variant, async ({ begin }) => {
        const before = await begin();
        before.set(notes.title, "a", "A");
        before.set(notes.done, "a", false);
        before.set(notes.tags.at("x"), "a", 1);
        before.set(notes.tags.at("y"), "a", 2);
        before.set(notes.title, "b", "B");
        before.set(notes.title, "c", "C");
        await before.commit();
        const tx = await begin();
        const other = await begin();
        tx.set(notes.title, "a", "A2");
        tx.set(notes.title, "a", "A3");
        tx.delete(notes.done, "a");
        tx.delete(notes.tags.at("x"), "a");
        tx.set(notes.tags.at("xx"), "a", 3);
        await tx.deleteRow(notes, "b");
        tx.set(notes.title, "bb", "BB");
        tx.set(notes.title, "c", "C2");
        await tx.deleteRow(notes, "c");
        tx.set(notes.done, "c", true);

        const tags = new Map([
          ["xx", 3],
          ["y", 2],
        ]);
        expect(await tx.get(notes.title, "a")).toBe("A3");
        expect(await tx.get(notes.done, "a")).toBeUndefined();
        expect(await tx.getMany(notes.title, ["a", "b", "bb", "c"])).toEqual([
          "A3",
          undefined,
          "BB",
          undefined,
        ]);
        expect({ ...(await tx.row(notes, "a")) }).toEqual({ title: "A3", tags });
        expect(await tx.row(notes, "b")).toBeUndefined();
        expect({ ...(await tx.row(notes, "c")) }).toEqual({ done: true, tags: new Map() });
        expect(await all(tx.entries(notes.tags, "a"))).toEqual([
          { qualifier: "xx", value: 3 },
          { qualifier: "y", value: 2 },
        ]);
        expect(await all(tx.scan(notes.title))).toEqual([
          { row: "a", value: "A3" },
          { row: "bb", value: "BB" },
        ]);
        expect(await all(tx.scan(notes.title, { reverse: true, limit: 1 }))).toEqual([
          { row: "bb", value: "BB" },
        ]);
        expect(await all(tx.scan(notes.tags))).toEqual([{ row: "a", value: tags }]);
        expect((await all(tx.scan(notes))).map(({ row }) => row)).toEqual(["a", "bb", "c"]);
        expect(await all(other.scan(notes.title))).toEqual([
          { row: "a", value: "A" },
          { row: "b", value: "B" },
          { row: "c", value: "C" },
        ]);
        await tx.commit();
        const after = await begin();
        expect((await all(after.scan(notes))).map(({ row }) => row)).toEqual(["a", "bb", "c"]);
        expect(await all(other.entries(notes.tags, "a"))).toEqual([
          { qualifier: "x", value: 1 },
          { qualifier: "y", value: 2 },
        ]);
      }));
  });

  describe("between transactions", () => {
    test("N-MR, non-monotonic reads: a client that reads repeatedly never goes back in time", () =>
      withCase(variant, async ({ db, recorder }) => {
        let writing = true;
        const [writer, reader] = [recorder.client("writer"), recorder.client("reader")];
        const reading = (async () => {
          let last = 0;
          for (let wasWriting = true; wasWriting; ) {
            wasWriting = writing;
            await using snapshot = await reader.snapshot(db);
            const value = (await snapshot.get(numbers.value, "1"))!;
            expect(value).toBeGreaterThanOrEqual(last);
            last = value;
            await new Promise(setImmediate);
          }
          return last;
        })();
        for (let value = 11; value <= 40; value++) {
          await writer.transact(db, (tx) => tx.set(numbers.value, "1", value));
        }
        writing = false;
        expect(await reading).toBe(40);
      }));

    test("MYR, missing your writes: a client sees its confirmed commits in its next read", () =>
      withCase(variant, async ({ db, recorder }) => {
        const client = recorder.client("writer and reader");
        for (let value = 1; value <= 10; value++) {
          await client.transact(db, (tx) => tx.set(numbers.value, "1", value));
          expect(await client.transact(db, (tx) => valueAt(tx, "1"))).toBe(value);
          await using snapshot = await client.snapshot(db);
          expect(await snapshot.get(numbers.value, "1")).toBe(value);
        }
      }));

    test("N-MW, non-monotonic writes: no transaction sees a client's second write without its first", () =>
      withCase(variant, async ({ db, recorder }) => {
        const watched = watch((snapshot) => snapshot.getMany(numbers.value, ["2", "1"]));
        for (let value = 100; value < 115; value++) {
          await recorder.client("writer").transact(db, (tx) => tx.set(numbers.value, "1", value));
          await watched.once(await recorder.client("reader").snapshot(db));
          await recorder.client("writer").transact(db, (tx) => tx.set(numbers.value, "2", value));
          await watched.once(await recorder.client("reader").snapshot(db));
        }
        for (const [second, first] of watched.seen.filter(([each]) => each! >= 100)) {
          expect(first).toBeGreaterThanOrEqual(second!);
        }
        expect(watched.seen.length).toBe(30);
      }));

    test("MRWD, writes follow reads: no transaction sees an answer without the message that it answers", () =>
      withCase(variant, async ({ db, recorder }) => {
        await recorder.client("asking").transact(db, (tx) => tx.set(numbers.value, "2", 10));
        const answering = (async () => {
          for (let answered = 10; answered < 20; ) {
            answered = await recorder.client("answering").transact(db, async (tx) => {
              const asked = (await valueAt(tx, "1"))!;
              tx.set(numbers.value, "2", asked);
              return asked;
            });
          }
        })();
        const watched = watch((snapshot) => snapshot.getMany(numbers.value, ["2", "1"]));
        for (let value = 11; value <= 20; value++) {
          await recorder.client("asking").transact(db, (tx) => tx.set(numbers.value, "1", value));
          await watched.once(await recorder.client("reader").snapshot(db));
        }
        await answering;
        await watched.once(await recorder.client("reader").snapshot(db));
        for (const [answer, question] of watched.seen) expect(question).toBeGreaterThanOrEqual(answer!);
        expect(watched.seen.at(-1)).toEqual([20, 20]);
      }));

    test("long fork: two readers do not see two independent writers in opposite orders", () =>
      withCase(variant, async ({ begin }) => {
        const [one, two] = [await begin(), await begin()];
        one.set(numbers.value, "1", 11);
        two.set(numbers.value, "2", 21);
        const before = await begin();
        expect(await outcomeOf(one.commit())).toBe("committed");
        const between = await begin();
        expect(await outcomeOf(two.commit())).toBe("committed");
        const after = await begin();
        const rows = ["2", "1"];
        expect(await between.getMany(numbers.value, rows)).toEqual([20, 11]);
        expect(await before.getMany(numbers.value, rows)).toEqual([20, 10]);
        expect(await after.getMany(numbers.value, rows)).toEqual([21, 11]);
      }));

    test("monotonic snapshots: if one begins after another, it sees all that the other one sees", () =>
      withCase(variant, async ({ db, recorder, begin }) => {
        const committing: Promise<unknown>[] = [];
        let last = { 1: 0, 2: 0 };
        for (let value = 30; value < 60; value++) {
          const row = value % 2 === 0 ? "1" : "2";
          committing.push(
            recorder.client(`writer ${value}`).transact(db, async (tx) => {
              if ((await valueAt(tx, row))! < value) tx.set(numbers.value, row, value);
            }),
          );
          const seen = (await rowsWhere(await begin())) as { 1: number; 2: number };
          expect(seen[1]).toBeGreaterThanOrEqual(last[1]);
          expect(seen[2]).toBeGreaterThanOrEqual(last[2]);
          last = seen;
        }
        await Promise.all(committing);
        expect(await rowsWhere(await begin())).toEqual({ 1: 58, 2: 59 });
      }));
  });

  describe("while a commit is between its steps", () => {
    const steps: readonly StepName[] =
      variant.commit === "auto"
        ? ["one-phase-commit"]
        : ["prewrite", "commit-timestamp", "commit-primary", "commit-secondary"];

    test.each(steps)("atomic visibility at %s: a reader sees both rows as before, or both new", (step) => {
      const hooks = new StepHooks();
      return withCase(
        variant,
        async ({ begin }) => {
          const seen: unknown[] = [];
          const looks: Promise<void>[] = [];
          // The step must not await this read, because a reader that meets a young lock waits for
          // its owner, and the owner waits for the step.
          const look = async () => {
            const reader = await begin();
            const [many, rows] = [await reader.getMany(numbers.value, ["2", "1"]), await rowsWhere(reader)];
            seen.push(many, [rows[2], rows[1]]);
          };
          const lookAWhile = async () => {
            looks.push(look());
            for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
          };
          const before = await begin();
          let pass = () => {};
          const passed = new Promise<void>((resolve) => {
            pass = resolve;
          });
          hooks.once(step, async (run) => {
            await lookAWhile();
            const answer = await run();
            await lookAWhile();
            pass();
            return answer;
          });
          const writer = await begin();
          writer.set(numbers.value, "1", 11);
          writer.set(numbers.value, "2", 21);
          expect(await outcomeOf(writer.commit())).toBe("committed");
          // The commit is answered before its secondaries are committed.
          await passed;
          await Promise.all(looks);
          expect(looks.length).toBe(2);
          await look();
          expect(await before.getMany(numbers.value, ["1", "2"])).toEqual([10, 20]);
          const [old, fresh] = [
            [20, 10],
            [21, 11],
          ];
          for (const each of seen) expect([old, fresh]).toContainEqual(each);
          expect(seen.at(-1)).toEqual(fresh);
        },
        { hooks },
      );
    });
  });
});

/** Records the rows 2 and 1 that `look` reads from each snapshot. */
function watch(look: (snapshot: Snapshot) => Promise<(number | undefined)[]>) {
  const seen: (number | undefined)[][] = [];
  return {
    seen,
    async once(snapshot: Snapshot) {
      await using taken = snapshot;
      seen.push(await look(taken));
    },
  };
}
