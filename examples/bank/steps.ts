import type { Database } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import type { StepName } from "percolatordb/testing";
import { openWithHooks, StepHooks } from "percolatordb/testing";
import { ProtocolView } from "./protocol-view.js";
import { accounts, cash, tables } from "./tables.js";
import { transfer } from "./transfer.js";

const amount = 7;

/** The steps of the transfer's commit, with a description of the state after each. */
const story: readonly (readonly [name: StepName, row: string | undefined, text: string])[] = [
  [
    "prewrite",
    "Bob",
    "Prewrite of Bob: the new balance stands in `data`, with a lock. This lock is the primary.",
  ],
  [
    "prewrite",
    "Joe",
    "Prewrite of Joe: his lock names the primary. A transaction that meets it looks there.",
  ],
  [
    "commit-primary",
    undefined,
    "Commit point: at the primary the lock gave way to a write record. Now both are paid, though Joe's lock stands.",
  ],
  [
    "commit-secondary",
    "Joe",
    "Joe's lock is rolled forward too. A reader that had met it would have done the same.",
  ],
];

/**
 * Bob pays Joe with a two-phase commit in memory. After every step, calls `print` with the contents
 * of the store, as in the paper's figure 4. The protocol would take some steps concurrently. Here
 * they run one after another, so that each is visible.
 */
export async function showSteps(print: (line: string) => void): Promise<void> {
  const hooks = new StepHooks();
  // Values go into data cells, as in the paper. By default small values are inside the lock and the
  // write record.
  const store = memoryStore({ inlineBytes: 0 });
  await using db = await openWithHooks(store, { tables, hooks, commit: "two-phase", collectEveryMs: 0 });
  await db.transact(async (tx) => {
    await transfer(tx, "deposit-1", { from: cash, to: "Bob", amount: 10 });
    await transfer(tx, "deposit-2", { from: cash, to: "Joe", amount: 2 });
  });
  const view = new ProtocolView();
  const show = async (text: string) => {
    for (const line of [text, "", ...view.lines(await balances(db)), ""]) print(line);
  };
  await settled(db);
  await show("Bob has $10, Joe $2.");
  const told: Promise<void>[] = [];
  for (const [name, row, text] of story) {
    told.push(afterStep(hooks, name, row, told.at(-1) ?? Promise.resolve(), () => show(text)));
  }
  await db.transact((tx) => transfer(tx, "transfer-1", { from: "Bob", to: "Joe", amount }));
  await Promise.all(told);
}

/**
 * Makes the next step with this name and row wait for `turn`. Resolves when the step is done and
 * `show` has ended.
 */
function afterStep(
  hooks: StepHooks,
  name: StepName,
  row: string | undefined,
  turn: Promise<void>,
  show: () => Promise<void>,
): Promise<void> {
  return new Promise((resolve) => {
    const interfere = async (run: () => Promise<unknown>) => {
      await turn;
      const answer = await run();
      await show();
      resolve();
      return answer;
    };
    hooks.once(name, interfere, ({ cell }) => row === undefined || cell?.includes(row) === true);
  });
}

async function balances(db: Database) {
  const rows = ["Bob", "Joe"].map(async (row) => {
    const columns = await db.inspect(accounts, row);
    return [row, columns.find(({ column }) => column === "balance")] as const;
  });
  return new Map(await Promise.all(rows));
}

/** Commits the secondaries of transactions whose commit was already answered. */
async function settled(db: Database): Promise<void> {
  for await (const lock of db.locks()) await db.resolve(lock);
}
