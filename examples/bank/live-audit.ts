import type { LiveRead } from "percolatordb";
import { liveQuery } from "percolatordb/live";
import { accounts, trail } from "./tables.js";

/** What the page of the bank shows. */
export interface LiveAudit {
  readonly balances: readonly { readonly account: string; readonly balance: number }[];
  /** The sum of all balances. Always 0. */
  readonly sum: number;
  /** The account whose trail is shown. */
  readonly account: string;
  /** The newest lines of its trail, the newest first: those whose ids are the last. */
  readonly lines: readonly { readonly id: string; readonly amount: number }[];
  /**
   * What its balance has and its trail does not have yet, because the observer runs a moment after
   * the transfer. `undefined` if the trail has more lines than one run reads.
   */
  readonly notYetInTrail: number | undefined;
}

const linesShown = 15;
/** A run of a live query reads at most 100,000 cells. */
const maxLines = 20_000;

/**
 * All balances and the trail of one account, in one snapshot. So the sum is 0 in every value, however
 * many transfers are made meanwhile.
 */
export function liveAudit(account: string): LiveRead<LiveAudit> {
  return liveQuery(async (snapshot) => {
    const balances = [];
    let sum = 0;
    for await (const { row, value } of snapshot.scan(accounts.balance)) {
      balances.push({ account: row, balance: value });
      sum += value;
    }
    const lines = [];
    let [count, inTrail] = [0, 0];
    const newest = { prefix: [account], reverse: true, limit: maxLines } as const;
    for await (const { row, value } of snapshot.scan(trail.amount, newest)) {
      if (++count <= linesShown) lines.push({ id: row[1], amount: value });
      inTrail += value;
    }
    const balance = balances.find((each) => each.account === account)?.balance ?? 0;
    const notYetInTrail = count === maxLines ? undefined : balance - inTrail;
    return { balances, sum, account, lines, notYetInTrail };
  });
}
