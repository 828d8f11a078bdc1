import { type Database, type Feed, feed, int, open, table } from "percolatordb";
import { inFlight, WrongResultError } from "../harness/compare.js";
import { rowOf } from "../harness/data.js";
import { pause } from "../harness/pause.js";
import { type Bench, type BenchCase, figureOf } from "./bench.js";

const numbers = table("numbers", { value: int() });
const rows = 10_000;
const width = 1_000;
/** Transactions a second while the delay is measured. */
const perSecond = 1_000;

const numberFeed = feed("number-feed", [numbers.value]);

/** What follows the table while transactions change it, and the feeds that are declared for it. */
const followers: Readonly<Record<string, readonly Feed[]>> = {
  "no feed": [],
  "a feed": [numberFeed],
  "a live query": [],
};

/**
 * Transactions of one cell and of ten, with and without something that follows their table, in turns.
 * Then the delay from the call of a commit until `db.changes` tells it.
 */
export const feeds: BenchCase = {
  name: "feeds",
  about:
    "what a change feed and a live query cost the transactions that they follow, and the delay of a feed",
  async run(bench) {
    const rounds = bench.options.quick ? 3 : 7;
    const transactions = bench.options.quick ? 5_000 : 20_000;
    const databases = new Map<string, Database>();
    try {
      for (const name of Object.keys(followers)) databases.set(name, await opened(bench, name));
      const figures = [];
      for (const cells of [1, 10]) {
        const rates = await inTurns(bench, databases, { rounds, transactions, cells });
        const alone = rates.get("no feed")!;
        for (const [name, found] of rates) {
          figures.push(figureOf(`transactions of ${cells}, ${name}`, "/s", found));
          if (name === "no feed") continue;
          figures.push(
            figureOf(
              "share of the rate without",
              "",
              found.map((rate, round) => rate / alone[round]!),
            ),
          );
        }
      }
      bench.say(`the delay of a feed at ${perSecond} transactions a second`);
      const delays = await delaysOf(databases.get("a feed")!, bench.options.quick ? 3 : 10);
      figures.push(figureOf("from the call of a commit until `db.changes` tells it", "ms", delays));
      return { comparisons: [], figures };
    } finally {
      for (const db of databases.values()) await db.close();
    }
  },
};

async function opened(bench: Bench, name: string): Promise<Database> {
  const db = await open(bench.newFolder("feeds"), {
    tables: [numbers],
    feeds: followers[name]!,
    collectEveryMs: 0,
  });
  for (let first = 0; first < rows; first += 500) {
    await db.transact((tx) => {
      for (let row = first; row < first + 500; row++) tx.set(numbers.value, rowOf(row), 0);
    });
  }
  if (name !== "a live query") return db;
  // A query of a row that nobody changes. Its cost is the entry that each transaction leaves.
  const query = db.live((snapshot) => snapshot.get(numbers.value, "none"));
  await query.next();
  void query.next().catch(() => undefined);
  await pause(500);
  return db;
}

interface Size {
  readonly rounds: number;
  readonly transactions: number;
  readonly cells: number;
}

/** Transactions a second of each database. The first round warms up. */
async function inTurns(
  bench: Bench,
  databases: ReadonlyMap<string, Database>,
  { rounds, transactions, cells }: Size,
): Promise<ReadonlyMap<string, number[]>> {
  const rates = new Map<string, number[]>([...databases.keys()].map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, db] of databases) {
      bench.say(`transactions of ${cells}, ${name}, round ${round}`);
      const began = performance.now();
      await inFlight(transactions / cells, width / cells, (index) =>
        db.transact((tx) => {
          for (let cell = 0; cell < cells; cell++)
            tx.set(numbers.value, rowOf((index * cells * 7 + cell) % rows), index);
        }),
      );
      if (round > 0) rates.get(name)!.push(((transactions / cells) * 1_000) / (performance.now() - began));
    }
  }
  return rates;
}

async function delaysOf(db: Database, seconds: number): Promise<readonly number[]> {
  const called: number[] = [];
  const delays: number[] = [];
  const count = seconds * perSecond;
  await using snapshot = await db.snapshot();
  const reading = (async () => {
    for await (const { value } of db.changes(numberFeed, { since: snapshot.timestamp })) {
      const at = called[value!];
      if (at === undefined)
        throw new WrongResultError(`The feed told the number ${value}, which nobody wrote.`);
      delays.push(performance.now() - at);
      if (delays.length === count) return;
    }
  })();
  const began = performance.now();
  const running: Promise<unknown>[] = [];
  while (called.length < count) {
    const due = Math.min(count, ((performance.now() - began) * perSecond) / 1_000);
    while (called.length < due) {
      const number = called.length;
      called.push(performance.now());
      running.push(db.transact((tx) => tx.set(numbers.value, rowOf((number * 7) % rows), number)));
    }
    await pause(1);
  }
  await Promise.all(running);
  await reading;
  return delays;
}
