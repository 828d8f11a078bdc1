import { batchObserver, batchRowObservers, type Database } from "../../../src/index.js";
import type { ClientEnd, ClientHandle, Program } from "../../../src/testing/exploration/index.js";
import { cells, expectEqual, once, pages, startWith } from "./tables.js";

/** Adds the values of all cells up. A change that is handled twice, or not at all, makes the total wrong. */
const total = batchObserver("total", cells.value, async (tx, changes) => {
  let sum = (await tx.get(pages.words, "all")) ?? 0;
  for (const { value = 0, previous = 0 } of changes) sum += value - previous;
  tx.set(pages.words, "all", sum);
});

const rows = ["p", "q"] as const;

async function totalIsRight(db: Database): Promise<void> {
  const [values, all] = await db.transact(async (tx) => [
    await tx.getMany(cells.value, rows),
    await tx.get(pages.words, "all"),
  ]);
  expectEqual(
    "the total",
    all,
    (values as number[]).reduce((sum, value) => sum + value),
  );
}

const ofTotals = {
  tables: [cells, pages],
  observers: [total],
  setup: startWith({ p: 1, q: 2 }),
  healed: totalIsRight,
};

const change = (row: (typeof rows)[number], value: number) => (db: Database) =>
  db.transact((tx) => {
    tx.set(cells.value, row, value);
    return tx;
  }, once);

export const batchTwoWorkers: Program = {
  name: "two changes that one run handles in a batch, and two workers",
  ...ofTotals,
  commit: "two-phase",
  clients: { W1: (client) => client.work(), W2: (client) => client.work() },
};

export const batchWriter: Program = {
  name: "a writer of a cell whose change a batch takes along, and a worker",
  ...ofTotals,
  commit: "two-phase",
  clients: {
    writer: ({ db }) => change("q", 5)(db),
    worker: (client) => client.work(),
  },
  faults: { stops: 1 },
};

export const batchOnePhase: Program = {
  name: "a writer of a cell whose change a batch takes along, and two workers, in one phase",
  ...ofTotals,
  clients: {
    writer: ({ db }) => change("q", 5)(db),
    W1: (client) => client.work(),
    W2: (client) => client.work(),
  },
  faults: { lostAnswers: 1 },
};

/** The same of two columns, whose observers share their runs. */
const totals = batchRowObservers("totals", [cells.value, cells.copy], async (tx, changes) => {
  for (const { row } of changes) {
    const [value = 0, copy = 0] = [await tx.get(cells.value, row), await tx.get(cells.copy, row)];
    const counted = (await tx.get(cells.other, row)) ?? 0;
    tx.set(cells.other, row, value + copy);
    tx.set(pages.words, "all", ((await tx.get(pages.words, "all")) ?? 0) + value + copy - counted);
  }
});

const ofRows = {
  tables: [cells, pages],
  observers: totals,
  setup: async (db: Database) => {
    await db.transact((tx) => {
      tx.set(cells.value, "p", 1);
      tx.set(cells.copy, "p", 2);
      tx.set(cells.copy, "q", 4);
    });
  },
  healed: async (db: Database) => {
    const found = await db.transact(async (tx) => [await tx.row(cells, "p"), await tx.row(cells, "q")]);
    const sum = found.reduce((all, row) => all + (row?.value ?? 0) + (row?.copy ?? 0), 0);
    expectEqual("the total", await db.transact((tx) => tx.get(pages.words, "all")), sum);
  },
};

export const batchRowsTwoWorkers: Program = {
  name: "two rows that one run of row observers handles in a batch, and two workers, in one phase",
  ...ofRows,
  clients: {
    W1: (client) => client.work(),
    W2: (client) => client.work({ observers: [totals[1]!] }),
  },
  faults: { lostAnswers: 1 },
};

export const batchRowsWriter: Program = {
  name: "a writer of a row that a batch of row observers takes along, and a worker",
  ...ofRows,
  commit: "two-phase",
  clients: {
    writer: ({ db }) => db.transact((tx) => tx.set(cells.value, "q", 5), once),
    worker: (client) => client.work(),
  },
};

/** If the writer was told that its commit is settled, it read the new total. */
export const batchSettled: Program = {
  ...ofTotals,
  name: "a writer that asks what is settled, and a worker that handles changes in a batch",
  asksWhatIsSettled: true,
  clients: {
    writer: async ({ db, isSettled }: ClientHandle) => {
      const { commitTimestamp } = await change("q", 5)(db);
      if (!(await isSettled(commitTimestamp!))) return undefined;
      return await db.transact((tx) => tx.get(pages.words, "all"), once);
    },
    worker: (client) => client.work({ looks: 2 }),
  },
  ended: ({ writer }: Readonly<Record<string, ClientEnd>>) => {
    if (writer?.outcome !== "returned" || writer.value === undefined) return;
    expectEqual("the total after `settled`", writer.value, 6);
  },
};
