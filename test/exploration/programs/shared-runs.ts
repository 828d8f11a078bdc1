import { type Database, observer, rowObservers } from "../../../src/index.js";
import type { ClientEnd, ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { cells, expectEqual, once, pages } from "./tables.js";

/** Two columns whose observers share their runs. */
const sums = rowObservers("sum", [cells.value, cells.copy], async (tx, { row }) => {
  const [value = 0, copy = 0] = [await tx.get(cells.value, row), await tx.get(cells.copy, row)];
  tx.set(cells.other, row, value + copy);
});

/** Watches what they write. */
const shown = observer("shown", cells.other, (tx, { row, value }) => tx.set(pages.words, row, value ?? 0));

const set = (value: number, copy: number) => (db: Database) =>
  db.transact((tx) => {
    tx.set(cells.value, "p", value);
    tx.set(cells.copy, "p", copy);
    return tx;
  }, once);

async function derived(db: Database): Promise<void> {
  const row = await db.transact((tx) => tx.row(cells, "p"));
  expectEqual("the sum", row?.other, (row?.value ?? 0) + (row?.copy ?? 0));
}

const ofSums = {
  tables: [cells, pages],
  observers: sums,
  setup: async (db: Database) => void (await set(1, 2)(db)),
  healed: derived,
};

export const sharedRunsTwoWorkers: Program = {
  name: "two changed columns whose observers share their runs, and two workers",
  ...ofSums,
  commit: "two-phase",
  clients: {
    W1: (client) => client.work(),
    W2: (client) => client.work({ observers: [sums[1]!] }),
  },
};

export const sharedRunsWriter: Program = {
  name: "a writer of two columns whose observers share their runs, and a worker",
  ...ofSums,
  commit: "two-phase",
  clients: {
    writer: ({ db }) => db.transact((tx) => tx.set(cells.copy, "p", 5), once),
    worker: (client) => client.work(),
  },
  faults: { stops: 1 },
};

export const sharedRunsOnePhase: Program = {
  name: "a writer of two columns whose observers share their runs, and two workers, in one phase",
  ...ofSums,
  clients: {
    writer: ({ db }) => set(4, 5)(db),
    W1: (client) => client.work(),
    W2: (client) => client.work({ observers: [sums[1]!] }),
  },
  faults: { lostAnswers: 1 },
};

/** If the writer was told that its commit is settled, it read what observers have derived of it. */
export const sharedRunsSettled: Program = {
  ...ofSums,
  name: "a writer that asks what is settled, and a worker of observers that share their runs",
  observers: [...sums, shown],
  asksWhatIsSettled: true,
  clients: {
    writer: async ({ db, isSettled }: ClientHandle) => {
      const { commitTimestamp } = await set(4, 5)(db);
      if (!(await isSettled(commitTimestamp!))) return undefined;
      return await db.transact((tx) => tx.get(pages.words, "p"), once);
    },
    worker: (client) => client.work({ looks: 2 }),
  },
  ended: ({ writer }: Readonly<Record<string, ClientEnd>>) => {
    if (writer?.outcome !== "returned" || writer.value === undefined) return;
    expectEqual("what is derived after `settled`", writer.value, 9);
  },
};
