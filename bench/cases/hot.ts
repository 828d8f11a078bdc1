import { type Database, int, observer, open, table } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { startEmulator } from "../../test/support/emulator/index.js";
import { inFlight } from "../harness/compare.js";
import type { BenchCase, CaseFigure } from "./bench.js";
import { sharedOracle } from "./shared-oracle.js";

const increments = 200;
const widths = [64, 4];

const events = table("events", { amount: int() });
const counters = table("counters", { value: int() });

/** Counts all events in one row. The observer does not observe that row. */
const counting = observer("counting", events.amount, async (tx) => {
  tx.set(counters.value, "all", ((await tx.get(counters.value, "all")) ?? 0) + 1);
});

/**
 * One row of Bigtable's emulator that all callers increment: callers of `db.transact`, and an
 * observer that counts changes of many rows. Each figure shows the time, and the number of
 * conflicts for each commit.
 */
export const hot: BenchCase = {
  name: "hot",
  about: `${increments} increments of one row on Bigtable's emulator, by ${widths.join(" and ")} at a time`,
  async run(bench) {
    const figures: CaseFigure[] = [];
    await using emulator = await startEmulator();
    for (const [index, width] of [...widths, undefined].entries()) {
      for (const [who, run] of Object.entries({ callers, observers })) {
        if (width === undefined && who === "callers") continue;
        const name = `${who}, ${width ?? "default"} at a time`;
        bench.say(name);
        const store = await openBigtableStore(`bigtable://project/instance?prefix=hot${index}${who}`, {
          emulatorHost: emulator.host,
        });
        await using db = await open(store, {
          tables: [events, counters],
          observers: [counting],
          oracle: sharedOracle(),
          collectEveryMs: 0,
        });
        figures.push(...(await measure(name, db, () => run(db, width))));
      }
    }
    return { comparisons: [], figures };
  },
};

async function measure(
  name: string,
  db: Database,
  run: () => Promise<number>,
): Promise<readonly CaseFigure[]> {
  const before = db.metrics.conflicts;
  const seconds = await run();
  const counted = await db.transact((tx) => tx.get(counters.value, "all"));
  if (counted !== increments) throw new Error(`The row says ${counted} after ${increments} increments.`);
  return [
    { name: `${name}: time`, value: seconds, unit: "s" },
    { name: `${name}: commits`, value: increments / seconds, unit: "/s" },
    { name: `${name}: conflicts a commit`, value: (db.metrics.conflicts - before) / increments, unit: "" },
  ];
}

async function callers(db: Database, width = increments): Promise<number> {
  const begun = performance.now();
  await inFlight(increments, width, () =>
    db.transact(async (tx) => {
      tx.set(counters.value, "all", ((await tx.get(counters.value, "all")) ?? 0) + 1);
    }),
  );
  return (performance.now() - begun) / 1_000;
}

/**
 * Commits all changes, and then starts a worker. Returns the seconds in which the worker handles
 * them.
 */
async function observers(db: Database, concurrency: number | undefined): Promise<number> {
  await inFlight(increments, 16, (event) => db.transact((tx) => tx.set(events.amount, `event ${event}`, 1)));
  const begun = performance.now();
  await using worker = db.work(concurrency === undefined ? {} : { concurrency });
  await worker.idle();
  return (performance.now() - begun) / 1_000;
}
