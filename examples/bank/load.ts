import { setImmediate } from "node:timers/promises";
import type { Database } from "percolatordb";
import { cash, type Transfer } from "./tables.js";
import { InsufficientFundsError, transfer } from "./transfer.js";

export interface LoadOptions {
  /** The number of accounts, which are named `account 0` and so on. */
  readonly accounts: number;
  readonly transfers: number;
  /** How many transfers run concurrently. */
  readonly clients: number;
  /** The prefix of the transfers' ids. */
  readonly name: string;
  /** Returns numbers in [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Called after each transfer was committed. */
  readonly onDone?: ((id: string, transfer: Transfer) => void) | undefined;
}

export interface LoadReport {
  readonly done: number;
  /** Refused because the payer had too little. */
  readonly refused: number;
}

const opening = 100;
const most = 40;

/** Gives every account its initial money, once. The ids sort before those that begin with a time. */
export async function openAccounts(db: Database, accounts: number): Promise<void> {
  await db.transact(async (tx) => {
    for (let index = 0; index < accounts; index++) {
      await transfer(tx, `0000 opening ${index}`, { from: cash, to: `account ${index}`, amount: opening });
    }
  });
}

/** Makes transfers between random accounts, many concurrently. */
export async function makeTransfers(db: Database, options: LoadOptions): Promise<LoadReport> {
  const { accounts, transfers, clients, name, random = Math.random, onDone } = options;
  const pick = (count: number) => Math.floor(random() * count);
  let next = 0;
  let [done, refused] = [0, 0];
  const client = async () => {
    while (next < transfers) {
      // A trail is in the order of the ids.
      const id = `${name} ${String(next++).padStart(8, "0")}`;
      const from = pick(accounts);
      const to = (from + 1 + pick(accounts - 1)) % accounts;
      const given = { from: `account ${from}`, to: `account ${to}`, amount: 1 + pick(most) };
      try {
        await db.transact((tx) => transfer(tx, id, given), { label: "transfer" });
        done++;
        onDone?.(id, given);
      } catch (error) {
        if (!(error instanceof InsufficientFundsError)) throw error;
        refused++;
      }
      // Lets other clients run. A client over a network does so anyway.
      await setImmediate();
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { done, refused };
}
