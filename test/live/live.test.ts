import { type Database, family, int, type LiveValue, type Snapshot, table, text, tuple } from "percolatordb";
import { describe, expect, test } from "vitest";
import { engines, withTwo } from "../support/databases.js";
import { collect, next } from "./live-values.js";

const accounts = table("accounts", { balance: int(), owner: text(), tags: family(text()) });
const lines = table("lines", { amount: int() }, { key: tuple(text(), int()) });
const tables = [accounts, lines];

const set = (db: Database, row: string, balance: number) =>
  db.transact((tx) => tx.set(accounts.balance, row, balance));

describe.each(engines)("a live query on $store, $commit", (variant) => {
  test("gives its value at once, and again after each change of what it read, by any process", async () => {
    await withTwo(variant, { tables }, async (one, other) => {
      await set(one, "a", 1);
      const values = other.live((snapshot) => snapshot.getMany(accounts.balance, ["a", "b"]));
      const first = await next(values);
      expect(first.value).toEqual([1, undefined]);
      const second = next(values);
      await set(one, "a", 2);
      expect((await second).value).toEqual([2, undefined]);
      const third = next(values);
      await set(other, "b", 3);
      expect((await third).value).toEqual([2, 3]);
      expect((await third).timestamp).toBeGreaterThan((await second).timestamp);
      await values.return();
    });
  });

  test("equals a snapshot at each of its timestamps, whatever commits at the same time", async () => {
    await withTwo(variant, { tables }, async (one, other) => {
      const work = async (db: Database, seed: number) => {
        for (let index = 0; index < 12; index++) {
          await db.transact(async (tx) => {
            const row = `row ${(index * seed) % 5}`;
            const before = (await tx.get(accounts.balance, row)) ?? 0;
            if (before % 4 === 3) tx.delete(accounts.balance, row);
            else tx.set(accounts.balance, row, before + 1);
            tx.set(accounts.tags.at(`tag ${index % 3}`), row, `${seed}`);
            tx.set(lines.amount, [row, index % 4], before);
          });
        }
      };
      const readers: ((snapshot: Snapshot) => Promise<unknown>)[] = [
        (snapshot) => snapshot.get(accounts.balance, "row 1"),
        (snapshot) => snapshot.row(accounts, "row 2"),
        (snapshot) => collect(snapshot.entries(accounts.tags, "row 3")),
        (snapshot) => collect(snapshot.scan(accounts.balance, { limit: 2 })),
        (snapshot) => collect(snapshot.scan(accounts.balance, { reverse: true, limit: 2 })),
        (snapshot) => collect(snapshot.scan(lines, { prefix: ["row 1"] })),
        (snapshot) => collect(snapshot.scan(accounts, { start: "row 2", end: "row 4" })),
      ];
      const following = readers.map((read, index) => followed(index % 2 === 0 ? one : other, read));
      await Promise.all([work(one, 1), work(other, 2), work(one, 3), work(other, 4)]);
      await using end = await one.snapshot();
      for (const [index, reader] of readers.entries()) {
        const states = await following[index]!.until(await reader(end));
        let last = -1;
        for (const { value, timestamp } of states) {
          expect(timestamp).toBeGreaterThan(last);
          last = timestamp;
          await using snapshot = await one.snapshot({ at: timestamp });
          expect(value).toEqual(await reader(snapshot));
        }
      }
    });
  });
});

/** Follows a live query in the background. */
function followed(db: Database, read: (snapshot: Snapshot) => Promise<unknown>) {
  const values = db.live(read);
  const states: LiveValue<unknown>[] = [];
  let wanted: string | undefined;
  let tell: (() => void) | undefined;
  const isThere = () => JSON.stringify(states.at(-1)?.value ?? null) === wanted;
  const reading = (async () => {
    for await (const state of values) {
      states.push(state);
      if (isThere()) tell?.();
    }
  })();
  return {
    /** Resolves to all states once the last one is the given one. */
    async until(value: unknown): Promise<readonly LiveValue<unknown>[]> {
      wanted = JSON.stringify(value ?? null);
      const there = new Promise<void>((resolve) => {
        tell = resolve;
      });
      if (!isThere()) await Promise.race([there, reading]);
      await values.return();
      await reading;
      return states;
    },
  };
}
