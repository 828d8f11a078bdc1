import { observer } from "../../../src/index.js";
import type { CommitMode, Program } from "../../../src/testing/exploration/index.js";
import { note } from "./note.js";
import { derived, lengthOf } from "./observers.js";
import { expectEqual, once, pages } from "./tables.js";

/**
 * An observer is registered while another client writes the column that it observes. The observer
 * must miss no commit after the registration.
 */
function registering(name: string, commit: CommitMode): Program {
  return {
    name,
    tables: [pages],
    commit,
    systemRequests: "all",
    clients: {
      writer: ({ db }) => db.transact((tx) => tx.set(pages.text, "p", "one"), once),
      registrar: (client) => client.register([lengthOf]),
    },
    laterObservers: [lengthOf],
    healed: async (db, work) => {
      // Changes from before the registration need a backfill.
      await db.backfill(lengthOf);
      await work();
      await derived(db);
    },
  };
}

export const registration = registering("registration beside a writer", "two-phase");
export const registrationOnePhase = registering("registration beside a writer, in one phase", "one-phase");

/**
 * The writer has a copy of the registry from before the registration. A commit that begins after the
 * registration leaves its hint all the same.
 */
function registeringBesideCopy(
  name: string,
  commit: CommitMode,
  store: Pick<Program, "atomicBatches" | "remote">,
): Program {
  return {
    name: `registration beside a writer that has a copy of the registry, ${name}`,
    tables: [pages],
    commit,
    ...store,
    systemRequests: "all",
    clients: {
      writer: async (client) => {
        const { db, shared } = client;
        // The writer reads the registry to find the observers of the signal, and so fills its cache.
        await db.transact((tx) => tx.notify(pages.poke, "p"), once);
        const isKnown = await note(client, "known", "has it been registered?", () =>
          shared.has("registered"),
        );
        await db.transact((tx) => tx.set(pages.text, "p", isKnown ? "after" : "one"), once);
      },
      registrar: async (client) => {
        await client.register([lengthOf]);
        await note(client, "known", "has registered", () => client.shared.set("registered", true).size);
      },
    },
    laterObservers: [lengthOf],
    healed: async (db) => {
      const page = await db.transact((tx) => tx.row(pages, "p"));
      if (page?.text === "after") expectEqual("the length of what was written after", page.length, 5);
    },
  };
}

/** Registration waits until every copy has expired, because no commit checks the registry. */
export const registrationDistant = registeringBesideCopy("without atomic batches", "two-phase", {
  atomicBatches: false,
});

/** On a server with atomic batches, such as PostgreSQL, registration waits for nothing. */
export const registrationRemote = registeringBesideCopy("on a server with atomic batches", "one-phase", {
  remote: true,
});
export const registrationRemoteInTwoPhases = registeringBesideCopy(
  "on a server with atomic batches, in two phases",
  "two-phase",
  { remote: true },
);

const counting = (version: number) =>
  observer("counting", pages.text, (tx, { row }) => tx.set(pages.words, row, version), { version });
const [older, newer] = [counting(1), counting(2)];

/**
 * A worker with the previous version runs, or leaves, due changes while the new version is
 * registered and backfilled.
 */
export const newVersion: Program = {
  name: "a new version of an observer beside a worker of the old one, in one phase",
  tables: [pages],
  observers: [older],
  laterObservers: [newer],
  systemRequests: "all",
  setup: (db) => db.transact((tx) => tx.set(pages.text, "p", "one"), once),
  clients: {
    worker: (client) => client.work({ observers: [older] }),
    registrar: async (client) => {
      await client.register([newer]);
      await client.db.backfill(newer);
    },
  },
  healed: async (db) => {
    expectEqual("the version that ran last", await db.transact((tx) => tx.get(pages.words, "p")), 2);
  },
};

/** The worker looks again with a copy of the registry from its first look, which the backfill waits for. */
export const newVersionRemote: Program = {
  ...newVersion,
  name: "a new version of an observer beside a worker of the old one, on a server with atomic batches",
  remote: true,
  clients: {
    ...newVersion.clients,
    worker: (client) => client.work({ observers: [older], looks: 2 }),
  },
};

/** Two backfills of different ranges. When a backfill resolves, it has marked its whole range. */
export const twoBackfills: Program = {
  name: "two backfills of one observer with different ranges, in one phase",
  tables: [pages],
  laterObservers: [lengthOf],
  systemRequests: "all",
  setup: async (db, _work, register) => {
    await db.transact((tx) => {
      for (const row of ["a", "z"]) tx.set(pages.text, row, "one");
    });
    await register([lengthOf]);
  },
  clients: {
    A: ({ db }) => db.backfill(lengthOf, { range: { end: "m" } }),
    B: ({ db }) => db.backfill(lengthOf, { range: { start: "m" } }),
  },
  healed: derived,
};
