import { type Database, LoadError, type LoadPart, loadPart } from "../../../src/index.js";
import type { ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { derived, lengthOf } from "./observers.js";
import { expectEqual, once, pages } from "./tables.js";

/** Rows of `pages`: texts, and the lengths that the observer would derive from them. */
type Texts = Readonly<Record<string, string>>;

const two: Texts = { a: "one", b: "three" };

/** The rows before "m". So transactions can write other rows of the table. */
function partsOf(texts: Texts): readonly LoadPart[] {
  const rows = Object.entries(texts).map(([row, text]) => ({ row, value: { text, length: text.length } }));
  return [
    loadPart(pages, (after) => rows.filter(({ row }) => after === undefined || row > after), { end: "m" }),
  ];
}

const loading =
  (texts: Texts = two) =>
  (client: ClientHandle) =>
    client.load("first", partsOf(texts));

/** Reads the texts of the load's rows at one snapshot. */
async function textsOf(db: Database, rows: readonly string[] = Object.keys(two)): Promise<string[]> {
  const found = await db.transact((tx) => tx.getMany(pages.text, rows), once);
  return found.filter((text) => text !== undefined);
}

/** Throws unless all rows of the load are there, or none is. */
async function wholeOrNothing(db: Database): Promise<number> {
  const found = await textsOf(db);
  if (found.length > 0) expectEqual("the number of loaded rows", found.length, Object.keys(two).length);
  return found.length;
}

/** Finishes the load, if its ranges were empty, and checks that all its rows are there. */
const finished = async (db: Database, texts = two): Promise<void> => {
  try {
    await db.load("first", partsOf(texts));
  } catch (error) {
    if (!(error instanceof LoadError)) throw error;
    expectEqual("the number of loads", (await db.loads()).length, 0);
    return;
  }
  const rows = Object.keys(texts);
  expectEqual("the number of loaded rows", (await textsOf(db, rows)).length, rows.length);
  await derived(db);
};

const ofLoads = {
  tables: [pages],
  systemRequests: "registry",
  healed: (db: Database) => finished(db),
} as const;

export const loadAndReader: Program = {
  ...ofLoads,
  name: "a bulk load beside a reader with two snapshots, in one phase",
  clients: {
    loader: loading(),
    reader: async ({ db }) => {
      const older = await db.begin();
      await wholeOrNothing(db);
      // By now the process may know the publication, which is after the start of this transaction.
      await older.get(pages.text, "a");
      await older.get(pages.text, "b");
    },
  },
};

const overwriting = ({ db }: ClientHandle) => db.transact((tx) => tx.set(pages.text, "a", "two"), once);

function beside(name: string, writer: "one-phase" | "two-phase", more: Partial<Program> = {}): Program {
  return {
    ...ofLoads,
    name,
    commit: { writer, loader: "one-phase" },
    observers: [lengthOf],
    clients: { loader: loading(), writer: overwriting },
    ...more,
  };
}

export const loadAndWriter = beside("a bulk load beside a writer in its range, in one phase", "one-phase");
export const loadAndWriterInTwoPhases = beside(
  "a bulk load beside a two-phase writer in its range",
  "two-phase",
  {
    observers: [],
    clients: { loader: loading({ a: "one" }), writer: overwriting },
    healed: (db) => finished(db, { a: "one" }),
  },
);
/** The writer has a copy of the registry from before the load. */
export const loadAndWriterDistant = beside(
  "a bulk load beside a writer in its range, without atomic batches",
  "two-phase",
  {
    commit: "two-phase",
    atomicBatches: false,
    timePasses: 1,
    observers: [],
    clients: {
      loader: loading({ a: "one" }),
      writer: async (client) => {
        await client.db.transact((tx) => tx.notify(pages.poke, "z"), once);
        await overwriting(client);
      },
    },
    healed: (db) => finished(db, { a: "one" }),
  },
);

/**
 * A serializable transaction finds the load's range empty, and says so in another row. If it
 * commits after the publication, no order of the two explains that.
 */
export const loadAndSerializable: Program = {
  ...ofLoads,
  name: "a bulk load beside a serializable transaction that reads its range, in one phase",
  clients: {
    loader: loading({ a: "one" }),
    reader: async ({ db }) => {
      let committedAt: number | undefined;
      const found = await db.transact(
        async (tx) => {
          const text = await tx.get(pages.text, "a");
          tx.set(pages.words, "z", text === undefined ? 0 : 1);
          tx.onCommit(() => (committedAt = tx.commitTimestamp));
          return text;
        },
        { ...once, isolation: "serializable" },
      );
      const [load] = await db.loads();
      const publishedAt = load?.publishedAt;
      if (found !== undefined || publishedAt === undefined || committedAt! < publishedAt) return;
      throw new Error(
        `a row was absent for the transaction that committed at ${committedAt}, after ${publishedAt}`,
      );
    },
  },
  healed: async () => {},
};

/** The first loader may stop at any step. The second one continues what it left. */
function takenOver(name: string, more: Partial<Program> = {}): Program {
  return {
    ...ofLoads,
    name,
    systemRequests: "loads",
    sessions: true,
    observers: [lengthOf],
    clients: {
      first: loading(),
      second: async (client) => {
        if (await client.outlives("first")) await loading()(client);
      },
    },
    faults: { stops: 1 },
    ...more,
  };
}

/** The loader may store its position at any moment. */
export const loadTakenOver = takenOver(
  "a bulk load that stops, and another loader that takes over, in one phase",
  { timePasses: 1 },
);
export const loadTakenOverFilled = takenOver(
  "a bulk load that stops, and another loader that takes over, with filled ranges",
  { inlineBytes: 16 << 20 },
);

/** The source of the second loader has other rows. What it did not return must not be there. */
export const loadTakenOverWithOtherRows = takenOver(
  "a bulk load that stops, and another loader whose source has other rows, in one phase",
  {
    clients: {
      first: loading({ a: "one", b: "three" }),
      second: async (client) => {
        if (!(await client.outlives("first"))) return;
        await loading({ a: "one", aa: "seven" })(client);
      },
    },
    healed: async (db) => {
      const [load] = await db.loads();
      if (load?.state !== "published") return;
      const found = (await textsOf(db, ["a", "aa", "b"])).join();
      if (found !== "one,three" && found !== "one,seven") throw new Error(`the load has the rows ${found}`);
    },
  },
);

/** A load is discarded while its loader works, or after it has stopped. */
export const loadDiscarded: Program = {
  ...ofLoads,
  name: "a bulk load that stops and is discarded, in one phase",
  systemRequests: "loads",
  sessions: true,
  clients: {
    loader: loading(),
    other: async (client) => {
      if (await client.outlives("loader")) await client.db.discardLoad("first");
    },
  },
  faults: { stops: 1 },
};

/** Answers of the store are lost. The loader repeats what it sent. */
export const loadWithLostAnswer: Program = {
  ...ofLoads,
  name: "a bulk load whose answers are lost, in one phase",
  clients: { loader: loading() },
  faults: { lostAnswers: 1, repeats: 1 },
};
export const loadWithLostAnswerFilled: Program = {
  ...loadWithLostAnswer,
  name: "a bulk load whose answers are lost, with filled ranges",
  inlineBytes: 16 << 20,
};

/** A row of the load is changed after the publication. Its observer must run for the change alone. */
export const loadThenObserved: Program = {
  ...ofLoads,
  name: "a bulk load beside a writer and an observer, in one phase",
  observers: [lengthOf],
  clients: {
    loader: async (client) => {
      await loading()(client);
      await client.db.transact((tx) => tx.set(pages.text, "a", "seven"), once);
    },
    worker: (client) => client.work(),
  },
};

/** An observer is registered during the load. The rows have its acknowledgment, or need a backfill. */
export const loadAndRegistration: Program = {
  ...ofLoads,
  name: "a bulk load beside the registration of an observer, in one phase",
  systemRequests: "all",
  laterObservers: [lengthOf],
  clients: { loader: loading({ a: "one" }), registrar: (client) => client.register([lengthOf]) },
  healed: async (db, work) => {
    await finished(db, { a: "one" });
    await db.transact((tx) => tx.set(pages.text, "a", "seven"), once);
    await work();
    await derived(db);
  },
};

/** The range had a row that was deleted. Collection makes the range empty, before or after the load looks. */
export const loadAndCollection: Program = {
  ...ofLoads,
  name: "a bulk load beside collection, in one phase",
  systemRequests: "all",
  setup: async (db) => {
    await db.transact((tx) => tx.set(pages.text, "a", "old"), once);
    await db.transact((tx) => tx.delete(pages.text, "a"), once);
  },
  clients: {
    loader: loading(),
    collector: ({ db }) => db.collect({ retentionMs: 0 }),
  },
  healed: async (db) => {
    await db.collect({ retentionMs: 0 });
    await finished(db);
    await db.collect({ retentionMs: 0 });
    expectEqual("the number of loaded rows", (await textsOf(db)).length, 2);
  },
};
