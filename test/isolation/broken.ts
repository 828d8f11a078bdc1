import { ConflictError, type Database, type Snapshot, type Transaction } from "percolatordb";
import type { RecordedDatabase } from "percolatordb/testing";

/** A fault in a database that replaces a correct one: how its transactions are changed. */
export type Fault = (tx: Transaction, db: Database) => Partial<Record<keyof Transaction, unknown>>;

/** A database whose transactions have a fault. */
export function broken(db: Database, fault: Fault): RecordedDatabase {
  const faulty = (tx: Transaction) => replace(tx, fault(tx, db));
  return {
    begin: async (options) => faulty(await db.begin(options)),
    snapshot: (options) => db.snapshot(options),
    transact: (run, options) => db.transact((tx) => run(faulty(tx)), options),
  };
}

function replace<T extends Transaction | Snapshot>(
  target: T,
  replaced: Partial<Record<keyof T, unknown>>,
): T {
  return new Proxy(target, {
    get(_, property) {
      if (Object.hasOwn(replaced, property)) return replaced[property as keyof T];
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** True every second time, beginning with the first. */
function everySecond(): () => boolean {
  let calls = 0;
  return () => calls++ % 2 === 0;
}

/** Reads at a timestamp after the transaction's start. */
export const readsLate: Fault = (_, db) => ({
  get: async (...args: Parameters<Transaction["get"]>) => {
    await using later = await db.snapshot();
    return await later.get(...args);
  },
});

/** Reads at a timestamp shortly before the transaction's start. */
export const readsEarly: Fault = (tx, db) => ({
  get: async (...args: Parameters<Transaction["get"]>) => {
    await using earlier = await db.snapshot({ at: tx.startTimestamp - 1_500 });
    return await earlier.get(...args);
  },
});

/** Drops some writes. */
export function dropsWrites(): Fault {
  const drops = everySecond();
  return (tx) => ({
    set: (...args: Parameters<Transaction["set"]>) => {
      if (!drops()) tx.set(...args);
    },
  });
}

/** Reports a committed transaction as a conflict. */
export const deniesCommits: Fault = (tx) => ({
  commit: async () => {
    await tx.commit();
    throw new ConflictError("This one was committed.");
  },
});

/** Reports a conflicting transaction as committed. */
export const hidesConflicts: Fault = (tx) => ({
  commit: async () => {
    try {
      await tx.commit();
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  },
});

/** Leaves rows out of scans. */
export const skipsRows: Fault = (tx) => {
  const keeps = everySecond();
  return {
    scan: async function* (...args: Parameters<Transaction["scan"]>) {
      for await (const item of tx.scan(...args)) if (keeps()) yield item;
    },
  };
};

/** Runs serializable transactions under snapshot isolation. */
export function weakened(db: Database): RecordedDatabase {
  return {
    begin: (options) => db.begin({ ...options, isolation: "snapshot" }),
    snapshot: (options) => db.snapshot(options),
    transact: (run, options) => db.transact(run, { ...options, isolation: "snapshot" }),
  };
}
