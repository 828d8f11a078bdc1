import { setImmediate } from "node:timers/promises";
import type { Database } from "percolatordb";
import { cash, type Transfer } from "./tables.js";
import { InsufficientFundsError, transfer } from "./transfer.js";

export interface LoadOptions {
  /** Accounts, named `account 0` and so on. */
  readonly accounts: number;
  readonly transfers: number;
  /** Transfers that are under way at the same time. */
  readonly clients: number;
  /** Begins the ids of the transfers. */
  readonly name: string;
  /** In [0, 1). Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Told of each transfer when it is committed. */
  readonly onDone?: ((id: string, transfer: Transfer) => void) | undefined;
}

export interface LoadReport {
  readonly done: number;
  /** Refused, since the payer had too little. */
  readonly refused: number;
}

const opening = 100;
const most = 40;

/** Gives every account its first money, once. */
export async function openAccounts(db: Database, accounts: number): Promise<void> {
  await db.transact(async (tx) => {
    for (let index = 0; index < accounts; index++) {
      await transfer(tx, `opening ${index}`, { from: cash, to: `account ${index}`, amount: opening });
    }
  });
}

/** Moves money between random accounts, many at a time. */
export async function makeTransfers(db: Database, options: LoadOptions): Promise<LoadReport> {
  const { accounts, transfers, clients, name, random = Math.random, onDone } = options;
  const pick = (count: number) => Math.floor(random() * count);
  let next = 0;
  let [done, refused] = [0, 0];
  const client = async () => {
    while (next < transfers) {
      const id = `${name} ${next++}`;
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
      // Leaves others a turn, as a client over a network does by itself.
      await setImmediate();
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { done, refused };
}
