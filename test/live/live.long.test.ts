import { type Database, int, type LiveValue, open, type Snapshot, table } from "percolatordb";
import { SeededRandom } from "percolatordb/testing";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/databases.js";
import { collect } from "./live-values.js";

const numbers = table("numbers", { a: int(), b: int() });
const rows = 200;
const queries = 400;
const deliveries = 100_000;
const row = (index: number) => `row ${String(index).padStart(4, "0")}`;

type Read = (snapshot: Snapshot) => Promise<unknown>;

function readOf(random: SeededRandom): Read {
  const index = Math.floor(random.next() * rows);
  const start = row(index);
  const kind = Math.floor(random.next() * 5);
  if (kind === 0) return (snapshot) => snapshot.row(numbers, start);
  if (kind === 1) return (snapshot) => collect(snapshot.scan(numbers.a, { start, limit: 3 }));
  if (kind === 2)
    return (snapshot) => collect(snapshot.scan(numbers.b, { end: start, reverse: true, limit: 2 }));
  if (kind === 3) return (snapshot) => collect(snapshot.scan(numbers, { start, end: row(index + 4) }));
  return (snapshot) => snapshot.getMany(numbers.a, [start, row(rows - 1 - index)]);
}

/** One random transaction. */
function write(db: Database, random: SeededRandom): Promise<void> {
  const places = Array.from({ length: 1 + Math.floor(random.next() * 3) }, () =>
    row(Math.floor(random.next() * rows)),
  );
  return db.transact((tx) => {
    for (const place of places) {
      const column = random.next() < 0.5 ? numbers.a : numbers.b;
      if (random.next() < 0.2) tx.delete(column, place);
      else tx.set(column, place, Math.floor(random.next() * 1_000_000));
    }
  });
}

test("each of 100,000 deliveries equals a query at its timestamp, and each query reaches the last state", async () => {
  const folder = await temporaryFolder();
  // Two handles have caches, sessions and feeds' leases of their own, as two processes have.
  const one = await open(folder.path, { tables: [numbers], collectEveryMs: 0 });
  const other = await open(folder.path, { tables: [numbers], collectEveryMs: 0 });
  const random = new SeededRandom("live");
  try {
    let checked = 0;
    const end = { isReached: false };
    const states: (LiveValue<unknown> | undefined)[] = [];
    const reads = Array.from({ length: queries }, () => readOf(random));
    const following = reads.map(async (read, index) => {
      const values = (index % 2 === 0 ? one : other).live(read);
      for await (const state of values) {
        expect(state.timestamp).toBeGreaterThan(states[index]?.timestamp ?? -1);
        states[index] = state;
        await using snapshot = await one.snapshot({ at: state.timestamp });
        expect(state.value).toEqual(await read(snapshot));
        checked++;
        if (end.isReached && (await isLast(read, state))) break;
      }
    });
    /** Whether a state is that of the end, after which nothing is written. */
    const isLast = async (read: Read, { value }: LiveValue<unknown>) => {
      await using snapshot = await one.snapshot();
      return JSON.stringify(value ?? null) === JSON.stringify((await read(snapshot)) ?? null);
    };
    for (let round = 0; checked < deliveries; round++) {
      await Promise.all([write(one, random), write(other, random), write(one, random), write(other, random)]);
      if (round % 1_000 === 999) await one.removeFeed("live numbers");
      if (round % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    // The last transaction changes what every query has read, so that each must tell one more state.
    end.isReached = true;
    for (const column of [numbers.a, numbers.b]) {
      await one.transact((tx) => {
        for (let index = 0; index < rows + 4; index++) tx.set(column, row(index), 2_000_000 + index);
      });
    }
    await Promise.all(following);
    expect(checked).toBeGreaterThanOrEqual(deliveries);
    expect(await one.check()).toEqual([]);
  } finally {
    await other.close();
    await one.close();
    await folder.remove();
  }
}, 1_200_000);
