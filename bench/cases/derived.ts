import { type Database, int, observer, open, table, text } from "percolatordb";
import { derive } from "percolatordb/recipes";
import { WrongResultError } from "../harness/compare.js";
import { rowOf } from "../harness/data.js";
import { cpuSeconds } from "../harness/usage.js";
import type { Bench, BenchCase } from "./bench.js";
import { figureOf } from "./bench.js";

const rowsInGroup = 5_000;
const clients = 128;
/** Updates a second that a group must take, as microseconds of one update. */
const maxUs = 200;

const orders = table("orders", { day: text(), total: int() });
const copies = table("copies", { total: int() });

const revenue = derive("revenue", {
  from: orders,
  reads: ["day", "total"],
  key: [text()],
  groupBy: (order) => [order.day],
  count: true,
  sum: (order) => order.total,
});

const extremes = derive("extremes", {
  from: orders,
  key: [text()],
  groupBy: (order) => [order.day],
  min: (order) => order.total,
  max: (order) => order.total,
});

/** The least that an observer of these changes does. */
const copy = observer("copy", orders.total, (tx, { row, value }) => {
  if (value !== undefined) tx.set(copies.total, row, value);
});

const kinds = {
  "an observer that copies": { tables: [orders, copies], observers: [copy] },
  "count and sum of one group": { tables: [orders, ...revenue.tables], observers: revenue.observers },
  "least and greatest of one group": { tables: [orders, ...extremes.tables], observers: extremes.observers },
};

/**
 * Every update changes a row of the same group. The time goes from the first update until the
 * derived row is right. Beside it is an observer that only copies each row, so that no two of its
 * runs have anything in common.
 */
export const derived: BenchCase = {
  name: "derived",
  about: `updates of rows of one group by ${clients} clients, until its derived row is right, in a folder`,
  async run(bench) {
    const updates = bench.options.quick ? 5_000 : 20_000;
    const figures = [];
    for (const [name, declared] of Object.entries(kinds)) {
      for (const together of [1, 10]) {
        const took: number[] = [];
        const used: number[] = [];
        for (let round = 0; round < 3; round++) {
          const label = `${name}, ${together === 1 ? "an update" : `${together} updates`} a transaction`;
          bench.say(`${label}, round ${round + 1}`);
          const { us, cpuUs } = await measure(bench, declared, updates, together);
          took.push(us);
          used.push(cpuUs);
        }
        const of = together === 1 ? "one a transaction" : `${together} a transaction`;
        const limit = name.startsWith("count") ? maxUs : undefined;
        figures.push(
          figureOf(`an update, ${of}: ${name}`, "µs", took, limit),
          figureOf(`CPU time of that, all threads`, "µs", used),
        );
      }
    }
    return { comparisons: [], figures };
  },
};

/** Returns the microseconds of one update, and its CPU time. */
async function measure(
  bench: Bench,
  declared: (typeof kinds)[keyof typeof kinds],
  updates: number,
  together: number,
): Promise<{ readonly us: number; readonly cpuUs: number }> {
  await using db = await open(bench.newFolder("derived"), { ...declared, collectEveryMs: 0 });
  for (let first = 0; first < rowsInGroup; first += 500) {
    await db.transact((tx) => {
      for (let row = first; row < first + 500; row++) {
        tx.set(orders.day, rowOf(row), "today");
        tx.set(orders.total, rowOf(row), 0);
      }
    });
  }
  await db.drain();
  await using _worker = db.work();
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  let next = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < updates) {
        const first = next;
        next += together;
        await db.transact((tx) => {
          for (let update = first; update < first + together; update++) {
            tx.set(orders.total, rowOf((update * 7) % rowsInGroup), update);
          }
        });
      }
    }),
  );
  await db.drain();
  const took = performance.now() - began;
  const used = cpuSeconds(cpu);
  await verify(db);
  return { us: (took * 1_000) / updates, cpuUs: (used * 1_000_000) / updates };
}

async function verify(db: Database): Promise<void> {
  await using snapshot = await db.snapshot();
  for (const derivation of [revenue, extremes]) {
    const isDerived = (await db.observers()).has(derivation.name);
    if (isDerived && (await derivation.compare(snapshot)).length > 0) {
      throw new WrongResultError(`The derived table ${derivation.name} differs from its source.`);
    }
  }
}
