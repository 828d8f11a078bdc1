import type { CommitMode, Program } from "../../../src/testing/exploration/index.js";
import { derived, lengthOf } from "./observers.js";
import { once, pages } from "./tables.js";

/** An observer is registered while somebody writes what it is to watch, and must miss no commit after that. */
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
      // What was written before the registration is for a backfill.
      await db.backfill(lengthOf);
      await work();
      await derived(db);
    },
  };
}

export const registration = registering("registration beside a writer", "two-phase");
export const registrationOnePhase = registering("registration beside a writer, in one phase", "one-phase");
