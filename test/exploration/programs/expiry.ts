import { type Database, int, observer, table } from "../../../src/index.js";
import type { Program } from "../../../src/testing/exploration/index.js";
import { once } from "./tables.js";

/** Timestamps count from 1, and a cell lives for 1,000 of them. */
const logins = table("logins", { token: int() }, { ttlMs: 1 });
const lifetime = 1_000;
const seen = table("seen", { token: int(), deletes: int(), ticks: int() });

const see = observer("see", logins.token, async (tx, { row, value, previous }) => {
  if (value !== undefined) return tx.set(seen.token, row, value);
  if (previous === undefined) throw new Error("the delete of what was never there");
  tx.delete(seen.token, row);
  tx.set(seen.deletes, row, ((await tx.get(seen.deletes, row)) ?? 0) + 1);
});

const write = (value: number) => (db: Database) =>
  db.transact((tx) => tx.set(logins.token, "a", value), once);

const found = (db: Database) =>
  db.transact(
    async (tx) => ({
      token: await tx.get(logins.token, "a"),
      seen: await tx.get(seen.token, "a"),
      deletes: (await tx.get(seen.deletes, "a")) ?? 0,
    }),
    once,
  );

function demand(isRight: boolean, what: string, state: object): void {
  if (!isRight) throw new Error(`${what}: ${JSON.stringify(state)}`);
}

const expiring = {
  tables: [logins, seen],
  observers: [see],
  setup: async (db, work) => {
    await write(1)(db);
    await work();
    // Time passes only with timestamps.
    for (let tick = 0; tick < lifetime; tick++) {
      await db.transact((tx) => tx.set(seen.ticks, "clock", tick), once);
    }
  },
} satisfies Partial<Program>;

const sweep = (db: Database) => db.collect();

/** An observer sees the delete of an expired cell once, however the sweep and the worker meet. */
export const expiryBesideObserver: Program = {
  ...expiring,
  name: "expiry beside an observer",
  clients: { sweeper: ({ db }) => sweep(db), worker: (client) => client.work() },
  healed: async (db) => {
    const state = await found(db);
    demand(state.token === undefined, "an expired cell is still there", state);
    demand(state.seen === undefined && state.deletes === 1, "the delete was not seen once", state);
  },
};

/** A cell that is written while the sweep runs is new, and lives on. */
export const expiryBesideWriter: Program = {
  ...expiring,
  name: "expiry beside a writer of the cell",
  clients: {
    sweeper: ({ db }) => sweep(db),
    writer: async ({ db, shared }) => {
      await write(2)(db);
      shared.set("written", true);
    },
  },
  healed: async (db, _, shared) => {
    const state = await found(db);
    if (shared.has("written")) {
      demand(state.token === 2 && state.seen === 2, "a new cell has expired", state);
      demand(state.deletes <= 1, "a delete was seen twice", state);
    } else demand(state.token === undefined && state.deletes === 1, "an expired cell is still there", state);
  },
};

/** A snapshot from before the delete reads the cell, also after it. */
export const expiryBesideReader: Program = {
  ...expiring,
  name: "expiry beside a reader of a snapshot",
  clients: {
    sweeper: ({ db }) => sweep(db),
    reader: async ({ db, shared }) => {
      await using snapshot = await db.snapshot();
      const before = await snapshot.get(logins.token, "a");
      const again = await snapshot.get(logins.token, "a");
      shared.set("reads", [before, again]);
    },
  },
  healed: async (_, __, shared) => {
    const [before, again] = shared.get("reads") as readonly unknown[];
    demand(before === again, "a snapshot changed", { before, again });
  },
};
