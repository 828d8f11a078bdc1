import { join } from "node:path";
import { type Database, open } from "percolatordb";
import { sayProgress } from "../../harness/program.js";
import { cpuSeconds } from "../../harness/usage.js";
import { drawsOf } from "../draws.js";
import { eventsOf, type NexmarkEvent } from "./events.js";
import { answerOf, observersOf, type Query, queries } from "./queries.js";
import { auctions, bids, persons, sellers } from "./tables.js";
import { twinOf } from "./twin.js";

/** Events in one transaction. */
const eventsAtOnce = 100;
/** Transactions that load at the same time. */
const loaders = 4;

export interface NexmarkOptions {
  readonly events: number;
  readonly seed: number;
}

export interface NexmarkRun {
  /** The queries that ran at the same time. */
  readonly queries: readonly Query[];
  /** From the first event until nothing was due. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Runs of observers that committed. */
  readonly runs: number;
  /** Lines of all answers. */
  readonly lines: number;
  /** Lines of the answers that the batch twin does not have, and lines that are missing. */
  readonly wrong: number;
}

export interface NexmarkResult {
  readonly options: NexmarkOptions;
  readonly runs: readonly NexmarkRun[];
}

/** Runs each query alone, and then all at once, each time in a new database. */
export async function measureNexmark(folder: string, options: NexmarkOptions): Promise<NexmarkResult> {
  const events = [...eventsOf(options.events, drawsOf(options.seed))];
  const runs: NexmarkRun[] = [];
  for (const those of [...queries.map((query) => [query]), queries]) {
    sayProgress(`Nexmark: ${those.join(", ")}`);
    runs.push(await runQueries(join(folder, `nexmark-${those.join("-")}`), those, events));
  }
  return { options, runs };
}

/** Loads the events with the queries' observers at work, and compares the answers with the twin's. */
export async function runQueries(
  location: string,
  those: readonly Query[],
  events: readonly NexmarkEvent[],
): Promise<NexmarkRun> {
  const observers = [...new Set(those.flatMap((query) => observersOf[query]))];
  await using db = await open(location, {
    tables: [persons, auctions, sellers, bids],
    observers,
    collectEveryMs: 0,
  });
  let runs = 0;
  db.on("run", ({ outcome }) => {
    if (outcome === "committed") runs++;
  });
  const worker = db.work();
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  await load(db, events);
  await db.idle();
  const [seconds, used] = [(performance.now() - began) / 1_000, cpuSeconds(cpu)];
  await worker.stop();
  const compared = await compare(db, those, events);
  return { queries: those, seconds, cpuSeconds: used, runs, ...compared };
}

async function load(db: Database, events: readonly NexmarkEvent[]): Promise<void> {
  let next = 0;
  const loader = async () => {
    while (next < events.length) {
      const some = events.slice(next, next + eventsAtOnce);
      next += eventsAtOnce;
      await db.transact((tx) => {
        for (const event of some) {
          if ("person" in event) tx.set(persons.event, [event.person.id], event.person);
          else if ("bid" in event) tx.set(bids.event, [event.bid.auction, event.number], event.bid);
          else {
            tx.set(auctions.event, [event.auction.id], event.auction);
            tx.set(sellers.auction, [event.auction.seller, event.auction.id], event.auction);
          }
        }
      });
    }
  };
  await Promise.all(Array.from({ length: loaders }, loader));
}

async function compare(
  db: Database,
  those: readonly Query[],
  events: readonly NexmarkEvent[],
): Promise<Pick<NexmarkRun, "lines" | "wrong">> {
  await using snapshot = await db.snapshot();
  let [lines, wrong] = [0, 0];
  for (const query of those) {
    const [found, right] = [await answerOf(query, snapshot), twinOf(query, events)];
    lines += found.size;
    wrong += [...found].filter((line) => !right.has(line)).length;
    wrong += [...right].filter((line) => !found.has(line)).length;
  }
  return { lines, wrong };
}
