import { type Database, observer } from "../../../src/index.js";
import type { ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { expectEqual, once, pages } from "./tables.js";

export const lengthOf = observer("length", pages.text, (tx, { row, value }) => {
  if (value === undefined) tx.delete(pages.length, row);
  else tx.set(pages.length, row, value.length);
});

export const wordsOf = observer("words", pages.text, (tx, { row, value }) => {
  tx.set(pages.words, row, value === undefined ? 0 : value.split(" ").length);
});

/** Expects that derived cells agree with their source. */
export async function derived(db: Database): Promise<void> {
  await db.transact(async (tx) => {
    for await (const { row, value } of tx.scan(pages)) {
      if (value.text !== undefined) expectEqual(`the length of ${row}`, value.length, value.text.length);
      else expectEqual(`the length of the deleted ${row}`, value.length, undefined);
    }
  });
}

const write = (row: string, text: string) => (db: Database) =>
  db.transact((tx) => tx.set(pages.text, row, text), once);

/** Also writes a cell that sorts before the observed cell, so that the latter is a secondary. */
const writeAsSecondary = (text: string) => (db: Database) =>
  db.transact((tx) => {
    tx.set(pages.words, "a", 0);
    tx.set(pages.text, "p", text);
  }, once);

const tables = [pages];
const observers = [lengthOf];

const observedByTwo = {
  tables,
  observers,
  setup: write("p", "one"),
  clients: {
    writer: ({ db }: ClientHandle) => write("p", "three")(db),
    W1: (client: ClientHandle) => client.work(),
    W2: (client: ClientHandle) => client.work(),
  },
  healed: derived,
};

export const observedPrimary: Program = {
  name: "a writer of an observed cell, its primary, and two workers",
  ...observedByTwo,
  commit: { writer: "two-phase", W1: "two-phase", W2: "one-phase" },
};

/** Takes many minutes, so it is explored with the larger budgets. */
export const observedPrimaryInTwoPhases: Program = {
  name: "a writer of an observed cell, its primary, and two workers, all in two phases",
  ...observedByTwo,
  commit: "two-phase",
};

export const observedSecondary: Program = {
  name: "a writer of an observed cell, its secondary, and a worker",
  tables,
  observers,
  commit: "two-phase",
  setup: write("p", "one"),
  clients: {
    writer: ({ db }) => writeAsSecondary("three")(db),
    W1: (client) => client.work({ looks: 2 }),
  },
  faults: { stops: 1 },
  healed: derived,
};

/** The reader's push makes the writer take another commit timestamp while a worker reads. */
export const observedPush: Program = {
  name: "a writer of an observed cell, pushed, and a worker",
  tables,
  observers,
  commit: "two-phase",
  setup: write("p", "one"),
  clients: {
    writer: ({ db }) => write("p", "three")(db),
    worker: (client) => client.work(),
    reader: ({ db }) => db.transact((tx) => tx.get(pages.text, "p"), once),
  },
  healed: derived,
};

export const twoObservers: Program = {
  name: "two observers on a cell, each with a worker of its own",
  tables,
  observers: [lengthOf, wordsOf],
  commit: "two-phase",
  clients: {
    writer: ({ db }) => write("p", "one two")(db),
    W1: (client) => client.work({ observers: [lengthOf] }),
    W2: (client) => client.work({ observers: [wordsOf] }),
  },
  healed: derived,
};

/** Two workers find one change. The worker that conflicts reads again. */
export const twoWorkers: Program = {
  name: "two workers on one change, each looking twice",
  tables,
  observers,
  commit: "two-phase",
  setup: write("p", "one"),
  clients: {
    W1: (client) => client.work({ looks: 2 }),
    W2: (client) => client.work({ looks: 2 }),
  },
  healed: derived,
};

const total = (name: "first" | "second") =>
  observer(name, pages.text, (tx) => tx.set(pages.words, "total", name === "first" ? 1 : 2));

/** Both observers write the same cell, so that their transactions meet. */
export const twoObserversOneCell: Program = {
  name: "two observers that write the same cell, one worker",
  tables,
  observers: [total("first"), total("second")],
  commit: "two-phase",
  setup: write("p", "one"),
  clients: { worker: (client) => client.work({ looks: 2 }) },
  faults: { stops: 1 },
};

/** One-phase commit, with every fault that is possible there. */
export const observedOnePhase: Program = {
  name: "a writer of an observed cell, a deleter and a worker, in one phase",
  tables,
  observers,
  setup: write("p", "one"),
  clients: {
    A: ({ db }) => write("p", "three")(db),
    B: ({ db }) => db.transact((tx) => tx.delete(pages.text, "p"), once),
    worker: (client) => client.work(),
  },
  faults: { lostAnswers: 1, stops: 1 },
  healed: derived,
};

const refusing = observer(
  "refusing",
  pages.text,
  (tx, { row, value }) => {
    if (value === "bad") throw new Error("refused");
    tx.set(pages.length, row, value?.length ?? 0);
  },
  { attempts: 1 },
);

/** Two workers take turns with the changes of two observers. */
export const observedByTwoOnePhase: Program = {
  name: "a writer of an observed cell and two workers, in one phase",
  tables,
  observers: [lengthOf, wordsOf],
  setup: write("p", "one"),
  clients: {
    A: ({ db }) => write("p", "three")(db),
    W1: (client) => client.work({ observers: [lengthOf] }),
    W2: (client) => client.work({ observers: [wordsOf, lengthOf] }),
  },
  healed: derived,
};

/** An observer parks a change while the next change arrives. The next change must be handled. */
function parkingProgram(name: string, commit: "one-phase" | "two-phase", stops: number): Program {
  return {
    name,
    tables,
    observers: [refusing],
    commit,
    setup: write("p", "bad"),
    clients: {
      writer: ({ db }) => write("p", "good")(db),
      worker: (client) => client.work(),
    },
    faults: { stops },
    healed: async (db) => {
      const row = await db.transact((tx) => tx.row(pages, "p"));
      if (row?.text === "good") expectEqual("the length", row.length, 4);
      let parked = 0;
      for await (const _ of db.parked()) parked++;
      expectEqual("parked changes", parked, row?.text === "bad" ? 1 : 0);
    },
  };
}

/**
 * Discarding a parked change marks it as handled while the next change arrives. The next change
 * must still be handled.
 */
export const discarding: Program = {
  name: "a parked change that is discarded beside a new one",
  tables,
  observers: [refusing],
  setup: async (db, work) => {
    await write("p", "bad")(db);
    await work();
  },
  clients: {
    writer: ({ db }) => write("p", "good")(db),
    operator: async ({ db }) => {
      for await (const parked of db.parked()) await db.discard(parked);
    },
  },
  healed: async (db) => {
    const row = await db.transact((tx) => tx.row(pages, "p"));
    expectEqual("the length", row?.length, 4);
  },
};

/** Throws while the text of its row is bad. */
const poked = observer(
  "poked",
  pages.poke,
  async (tx, { row }) => {
    const text = await tx.get(pages.text, row);
    if (text === "bad") throw new Error("refused");
    tx.set(pages.length, row, text?.length ?? 0);
  },
  { attempts: 1 },
);

const poke = (row: string, text: string) => (db: Database) =>
  db.transact((tx) => {
    tx.set(pages.text, row, text);
    tx.notify(pages.poke, row);
  }, once);

/**
 * One worker parks a signal, and the signal is notified again. Meanwhile another worker has the
 * earlier notification in its queue.
 */
export const signalParking: Program = {
  name: "a signal that is parked and notified again, and two workers, in one phase",
  tables,
  observers: [poked],
  setup: poke("p", "bad"),
  clients: {
    writer: ({ db }) => poke("p", "good")(db),
    W1: (client) => client.work(),
    W2: (client) => client.work(),
  },
  healed: async (db) => {
    const row = await db.transact((tx) => tx.row(pages, "p"));
    expectEqual("the length that the signal asked for", row?.length, 4);
  },
};

export const parking = parkingProgram("parking beside a new change", "two-phase", 0);
export const parkingOnePhase = parkingProgram("parking beside a new change, in one phase", "one-phase", 1);
