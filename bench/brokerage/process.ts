/** One process of the brokerage: its customers, and a worker that settles orders. */
import { type Database, open, type Worker } from "percolatordb";
import { serve } from "../harness/child.js";
import { committedRuns, type Requests, requestsOf, since } from "../harness/requests.js";
import { measureUse, type Use } from "../harness/usage.js";
import { Market } from "./market.js";
import { Pace, type Progress } from "./pace.js";
import { observers, settle, tables } from "./tables.js";

export interface Opening {
  readonly location: string;
  /** The index of this process, from 0. */
  readonly number: number;
  readonly processes: number;
  readonly clients: number;
  readonly concurrency: number;
  readonly maxAhead: number;
}

/** The work of one process in one run. */
export interface Done {
  /** Transactions of customers and the market. */
  readonly customers: number;
  /** Runs of observers that committed. */
  readonly runs: number;
  readonly commits: number;
  readonly conflicts: number;
  readonly requests: Requests;
  readonly use: Use;
}

const tellMs = 10;
let db: Database;
let worker: Worker;
let pace: Pace;
let opening: Opening;
let telling: NodeJS.Timeout;
let endUse: () => Promise<Use>;
let before: ReturnType<typeof countAll>;
let customers = 0;

const tell = serve({
  async open(asked: Opening) {
    opening = asked;
    db = await open(opening.location, { tables, observers, collectEveryMs: 0 });
    worker = db.work({ concurrency: opening.concurrency });
    pace = new Pace(opening.maxAhead);
    db.on("run", ({ observer, outcome }) => {
      if (observer === settle.name && outcome === "committed") pace.settled();
    });
    let told = pace.progress;
    telling = setInterval(() => {
      if (told === pace.progress) return;
      told = pace.progress;
      tell(told);
    }, tellMs);
  },
  learn: (others: Progress) => pace.learn(others),
  /** Does this process's share of the transactions. */
  async trade({ first, count }: { readonly first: number; readonly count: number }) {
    [endUse, before] = [await measureUse(db), countAll()];
    customers = await trade(first, count);
  },
  /** Works until nothing is due. Call it when no process trades any more. */
  async finish(): Promise<Done> {
    await worker.idle();
    const now = countAll();
    return {
      customers,
      runs: now.runs - before.runs,
      commits: now.commits - before.commits,
      conflicts: now.conflicts - before.conflicts,
      requests: since(now.requests, before.requests),
      use: await endUse(),
    };
  },
  async close() {
    clearInterval(telling);
    await worker.stop();
    await db.close();
  },
});

/**
 * The number of a transaction alone determines its process, so the total work is the same for any
 * number of processes.
 */
async function trade(first: number, count: number): Promise<number> {
  const market = new Market(db, pace);
  let done = 0;
  let next = first + opening.number;
  const client = async () => {
    while (next < first + count) {
      const mine = next;
      next += opening.processes;
      await market.act(mine);
      done++;
    }
  };
  await Promise.all(Array.from({ length: opening.clients }, client));
  return done;
}

function countAll() {
  const { commits, conflicts, requests } = db.metrics;
  return { runs: committedRuns(db), commits, conflicts, requests: requestsOf((kind) => requests[kind]) };
}
