import { join } from "node:path";
import {
  ConflictError,
  type Database,
  type Isolation,
  open,
  type Transaction,
  type TransactOptions,
} from "percolatordb";
import type { RecordedDatabase } from "percolatordb/testing";
import { expect, test } from "vitest";
import { broken, dropsWrites, readsEarly, readsLate, weakened } from "../isolation/broken.js";
import { temporaryFolder } from "../support/databases.js";
import { judge } from "./checker/judge.js";
import { promised } from "./checker/models.js";
import { Clients } from "./clients.js";
import { Journal, readJournal } from "./journal.js";
import { merge } from "./merge.js";
import type { Workload } from "./operations.js";
import { lists, registers } from "./transactions.js";

const clients = 8;
/** The most histories until a fault must have been found. */
const maxHistories = 10;
const transactionsOfHistory = 250;

/** Returns the kinds of anomaly in a history of a database, judged by its promise. */
async function play(
  wrap: (db: Database) => RecordedDatabase,
  workload: Workload,
  isolation: Isolation,
  seed: number,
): Promise<readonly string[]> {
  const folder = await temporaryFolder();
  try {
    const db = await open("memory:", { tables: [lists, registers] });
    const journal = new Journal(join(folder.path, "journal"), process.hrtime.bigint());
    const orders = {
      isolation,
      workloads: [workload],
      clients,
      rate: 4_000,
      seed: `${seed}`,
      elementsFrom: 0,
    };
    const running = new Clients(wrap(db), journal, orders);
    let begun = 0;
    await running.run(() => begun++ >= transactionsOfHistory);
    await running.readAll();
    await db.close();
    const entries = readJournal(join(folder.path, "journal"));
    const history = merge([{ slot: 0, endedAt: entries.at(-1)!.time + 1, entries }], clients);
    return judge(history, promised[isolation]).anomalies.map(({ kind }) => kind);
  } finally {
    await folder.remove();
  }
}

/** Reports some committed transactions as conflicts. */
function denies(db: Database): RecordedDatabase {
  let calls = 0;
  return {
    begin: (options) => db.begin(options),
    snapshot: (options) => db.snapshot(options),
    transact: async (run, options) => {
      const result = await db.transact(run, options);
      if (++calls % 10 === 0) throw new ConflictError("This one was committed.");
      return result;
    },
  };
}

/** Reports conflicting transactions as committed. */
function hides(db: Database): RecordedDatabase {
  return {
    begin: (options) => db.begin(options),
    snapshot: (options) => db.snapshot(options),
    transact: async <T>(run: (tx: Transaction) => T | Promise<T>, options?: TransactOptions) => {
      let result: T | undefined;
      try {
        return await db.transact(async (tx) => {
          result = await run(tx);
          return result;
        }, options);
      } catch (error) {
        if (error instanceof ConflictError && result !== undefined) return result;
        throw error;
      }
    },
  };
}

test.each(["list-append", "rw-register"] as const)(
  "%s: a correct database shows no anomaly",
  async (workload) => {
    for (const isolation of ["snapshot", "serializable"] as const) {
      expect(await play((db) => db, workload, isolation, 1)).toEqual([]);
    }
  },
);

test.each([
  {
    name: "reads after its start",
    wrap: (db: Database) => broken(db, readsLate),
    workload: "list-append",
    shows: /^G-single-item|^lost-update/,
  },
  {
    name: "reads after its start",
    wrap: (db: Database) => broken(db, readsLate),
    workload: "rw-register",
    shows: /^G-single-item|^lost-update/,
  },
  {
    name: "reads before its start",
    wrap: (db: Database) => broken(db, readsEarly),
    workload: "list-append",
    shows: /-(process|realtime)$/,
  },
  {
    name: "reads before its start",
    wrap: (db: Database) => broken(db, readsEarly),
    workload: "rw-register",
    shows: /-(process|realtime)$/,
  },
  {
    name: "forgets writes",
    wrap: (db: Database) => broken(db, dropsWrites()),
    workload: "list-append",
    shows: /^internal$|-(process|realtime)$/,
  },
  {
    name: "forgets writes",
    wrap: (db: Database) => broken(db, dropsWrites()),
    workload: "rw-register",
    shows: /^(internal|cyclic-versions-realtime)$/,
  },
  { name: "denies commits", wrap: denies, workload: "list-append", shows: /^G1a$/ },
  { name: "denies commits", wrap: denies, workload: "rw-register", shows: /^G1a$/ },
  { name: "hides conflicts", wrap: hides, workload: "list-append", shows: /^lost-update$|^G-single-item/ },
  { name: "hides conflicts", wrap: hides, workload: "rw-register", shows: /^lost-update$|^cyclic-versions/ },
  { name: "is not serializable", wrap: weakened, workload: "list-append", shows: /^G2-item/ },
  { name: "is not serializable", wrap: weakened, workload: "rw-register", shows: /^G2-item/ },
] as const)("$workload: a database that $name is detected", async ({ name, wrap, workload, shows }) => {
  const isolation = name === "is not serializable" ? "serializable" : "snapshot";
  const found: string[] = [];
  for (let seed = 1; seed <= maxHistories && !found.some((kind) => shows.test(kind)); seed++) {
    found.push(...(await play(wrap, workload, isolation, seed)));
  }
  expect(found.filter((kind) => shows.test(kind))).not.toEqual([]);
});
