import {
  CommitOutcomeUnknownError,
  ConflictError,
  type Database,
  type Observer,
  type Snapshot,
  StoreError,
  type Transaction,
} from "percolatordb";
import { demand, demandEqual } from "./expect.js";
import type { ObservedWorld } from "./observers.js";
import { accounts, switches } from "./tables.js";

const atFirst = 100;

type Reader = Pick<Transaction & Snapshot, "get" | "getMany" | "scan" | "entries">;

/**
 * Accounts with a constant sum, pairs of switches, and the outcomes of transfers that the clients
 * of one run were told.
 */
export class Ledger {
  readonly world: ObservedWorld;
  readonly accounts: readonly string[];
  readonly pairs: readonly (readonly [string, string])[] = [
    ["s1", "s2"],
    ["s3", "s4"],
  ];
  /** Pages with a review that was parked and discarded. */
  readonly notReviewed = new Set<string>();
  /** Pages with a signal that was parked and discarded. */
  readonly notSeen = new Set<string>();
  /** Observers for which a backfill of all ranges was confirmed. */
  readonly backfilled = new Set<Observer>();
  /**
   * Whether a transfer, by its name, was reported as committed. Transfers with an unknown outcome
   * are left out.
   */
  readonly #told = new Map<string, { readonly from: string; readonly isCommitted: boolean }>();

  /** The observers that every process hosts. */
  readonly observers: readonly Observer[];

  constructor(world: ObservedWorld, observers: readonly Observer[], accountCount: number) {
    this.world = world;
    this.observers = observers;
    this.accounts = Array.from({ length: accountCount }, (_, index) => `account ${index}`);
  }

  async setUp(db: Database): Promise<void> {
    await db.transact((tx) => {
      for (const account of this.accounts) tx.set(accounts.balance, account, atFirst);
      for (const row of this.pairs.flat()) tx.set(switches.on, row, 1);
    });
  }

  /** Records the outcome of a transfer. */
  async remember(name: string, from: string, transferring: Promise<void>): Promise<void> {
    try {
      await transferring;
      this.#told.set(name, { from, isCommitted: true });
    } catch (error) {
      // A retryable error of the store reports an outage. It also means that nothing was written.
      const isNothing = error instanceof ConflictError || (error instanceof StoreError && error.retryable);
      if (isNothing) this.#told.set(name, { from, isCommitted: false });
      else if (!(error instanceof CommitOutcomeUnknownError)) this.#told.delete(name);
      throw error;
    }
  }

  /**
   * Checks that the sum is constant in every snapshot. `isEarly`: the snapshot may be from before
   * the accounts existed.
   */
  async checkSum(reader: Reader, isEarly = false): Promise<void> {
    let sum = 0;
    let count = 0;
    for await (const { value } of reader.scan(accounts.balance)) {
      sum += value;
      count++;
    }
    if (isEarly && count === 0) return;
    demandEqual("the number of accounts", count, this.accounts.length);
    demandEqual("the sum of all accounts", sum, atFirst * this.accounts.length);
  }

  async checkSumByKeys(reader: Reader): Promise<void> {
    const balances = await reader.getMany(accounts.balance, this.accounts);
    const sum = balances.reduce<number>((total, balance) => total + (balance ?? 0), 0);
    demandEqual("the sum of all accounts, by their keys", sum, atFirst * this.accounts.length);
  }

  async checkSwitches(reader: Reader): Promise<void> {
    for (const [one, other] of this.pairs) {
      const on = [await reader.get(switches.on, one), await reader.get(switches.on, other)];
      demand(on.includes(1), () => `the switches ${one} and ${other} are both off`);
    }
  }

  /** Checks sums, switches, and that reported outcomes are true. */
  async check(db: Database): Promise<void> {
    await using snapshot = await db.snapshot();
    await this.checkSum(snapshot);
    await this.checkSumByKeys(snapshot);
    await this.checkSwitches(snapshot);
    const marks = new Set<string>();
    for (const account of this.accounts)
      for await (const { qualifier } of snapshot.entries(accounts.marks, account)) marks.add(qualifier);
    for (const [name, { isCommitted }] of this.#told) {
      const told = isCommitted ? "committed" : "not committed, for a conflict";
      demand(marks.has(name) === isCommitted, () => `the transfer ${name} was told to be ${told}`);
    }
  }
}
