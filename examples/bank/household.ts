import { type Isolation, open } from "percolatordb";
import { auditBank } from "./audit.js";
import { accounts, cash, tables } from "./tables.js";
import { InsufficientFundsError, pair, transfer } from "./transfer.js";

export interface HouseholdReport {
  /** How many of two concurrent withdrawals, one from each account, were paid. */
  readonly paid: number;
  /** The household's money afterwards. It must not be below 0. */
  readonly total: number;
  /** The errors that an audit finds. */
  readonly problems: readonly string[];
}

/**
 * Ann and Ben have $100 each. Each may draw $150, because together they have enough. Both do so at
 * the same time. Each transaction reads both accounts and writes one of them, so under snapshot
 * isolation the two do not conflict. This is write skew.
 */
export async function drawTogether(isolation: Isolation, location = "memory:"): Promise<HouseholdReport> {
  await using db = await open(location, { tables });
  await db.transact(async (tx) => {
    pair(tx, "Ann", "Ben");
    await transfer(tx, "opening Ann", { from: cash, to: "Ann", amount: 100 });
    await transfer(tx, "opening Ben", { from: cash, to: "Ben", amount: 100 });
  });
  let arrived = 0;
  let bothHere = () => {};
  const both = new Promise<void>((resolve) => {
    bothHere = resolve;
  });
  const draw = (from: string, till: string) =>
    db.transact(
      async (tx) => {
        await transfer(tx, `draw ${from}`, { from, to: till, amount: 150 });
        // Neither transaction commits before both have read. A transaction that is retried after a
        // conflict does not wait, because `both` has already resolved.
        if (++arrived === 2) bothHere();
        await both;
      },
      { isolation },
    );
  const drawn = await Promise.allSettled([draw("Ann", "till 1"), draw("Ben", "till 2")]);
  for (const answer of drawn) {
    if (answer.status === "rejected" && !(answer.reason instanceof InsufficientFundsError))
      throw answer.reason;
  }
  await using view = await db.snapshot();
  const [ann = 0, ben = 0] = await view.getMany(accounts.balance, ["Ann", "Ben"]);
  const { problems } = await auditBank(view);
  return { paid: drawn.filter(({ status }) => status === "fulfilled").length, total: ann + ben, problems };
}
