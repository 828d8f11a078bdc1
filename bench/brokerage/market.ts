import type { Database } from "percolatordb";
import { randomNumbers } from "../harness/data.js";
import type { Pace } from "./pace.js";
import { accounts, holdings, orderOf, securities, trades } from "./tables.js";

export const sizes = Object.freeze({ accounts: 5_000, securities: 500, brokers: 50 });
export const firstCash = 1_000_000_00;
const atOnce = 500;

/** One transaction of a customer or of the market. */
export type Act =
  | { readonly action: "order"; readonly row: TradeRow; readonly order: string }
  | { readonly action: "feed"; readonly changes: readonly PriceChange[] }
  | { readonly action: "position" | "lookup"; readonly account: string };
type Action = Act["action"];
export type TradeRow = readonly [account: string, number: string];
type PriceChange = readonly [security: string, by: number];

/** Percentages of all transactions of customers and the market. */
const mix: Readonly<Record<Action, number>> = { order: 30, feed: 5, position: 35, lookup: 30 };
const actions = (Object.keys(mix) as Action[]).flatMap((action) => Array<Action>(mix[action]).fill(action));

export const accountOf = (index: number) => `a${String(index).padStart(6, "0")}`;
export const securityOf = (index: number) => `s${String(index).padStart(4, "0")}`;
/** Every tenth account belongs to the first broker. */
export const brokerOf = (account: number) => `b${account % 10 === 0 ? 0 : account % sizes.brokers}`;

type Random = (below: number) => number;
const anAccount = (random: Random) => accountOf(random(sizes.accounts));
const aSecurity = (random: Random) => securityOf(random(sizes.securities));
export const firstPrice = (security: number) => 1_000 + security;

/** Returns the transaction with this number. The same number always gives the same transaction. */
export function actOf(number: number): Act {
  const random = randomNumbers(number + 1);
  const action = actions[random(actions.length)]!;
  if (action === "order") {
    const row = [anAccount(random), String(number).padStart(8, "0")] as const;
    return { action, row, order: orderOf(aSecurity(random), 1 + random(20) - random(10)) };
  }
  if (action === "feed") {
    const changes = Array.from({ length: 5 }, () => [aSecurity(random), random(20) - 10] as const);
    return { action, changes };
  }
  return { action, account: anAccount(random) };
}

export async function seed(db: Database): Promise<void> {
  for (let first = 0; first < sizes.accounts; first += atOnce) {
    await db.transact(async (tx) => {
      for (let index = first; index < Math.min(sizes.accounts, first + atOnce); index++) {
        tx.set(accounts.broker, accountOf(index), brokerOf(index));
        tx.set(accounts.cash, accountOf(index), firstCash);
      }
    });
  }
  await db.transact(async (tx) => {
    for (let index = 0; index < sizes.securities; index++)
      tx.set(securities.price, securityOf(index), firstPrice(index));
  });
}

/** The transactions of customers and of the market in one process. */
export class Market {
  readonly #db: Database;
  readonly #pace: Pace;

  constructor(db: Database, pace: Pace) {
    this.#db = db;
    this.#pace = pace;
  }

  async act(number: number): Promise<void> {
    const act = actOf(number);
    if (act.action === "order") await this.#order(act.row, act.order);
    else if (act.action === "feed") await this.#feed(act.changes);
    else if (act.action === "position") await this.#position(act.account);
    else await this.#lookup(act.account);
  }

  async #order(row: TradeRow, order: string): Promise<void> {
    await this.#pace.place();
    await this.#db.transact(async (tx) => tx.set(trades.order, row, order));
  }

  async #feed(changes: readonly PriceChange[]): Promise<void> {
    await this.#db.transact(async (tx) => {
      const prices = await tx.getMany(
        securities.price,
        changes.map(([security]) => security),
      );
      for (const [index, [security, by]] of changes.entries())
        tx.set(securities.price, security, Math.max(1, (prices[index] ?? 0) + by));
    });
  }

  /** Computes the value of an account. */
  async #position(account: string): Promise<void> {
    await using view = await this.#db.snapshot();
    const held: [string, number][] = [];
    for await (const { row, value } of view.scan(holdings.quantity, { prefix: [account] }))
      held.push([row[1], value]);
    const prices = await view.getMany(
      securities.price,
      held.map(([security]) => security),
    );
    const worth = held.reduce((sum, [, quantity], index) => sum + quantity * (prices[index] ?? 0), 0);
    if (Number.isNaN(worth + ((await view.get(accounts.cash, account)) ?? 0))) throw new Error("No number.");
  }

  /** Reads the newest trades of an account. */
  async #lookup(account: string): Promise<void> {
    await using view = await this.#db.snapshot();
    for await (const _ of view.scan(trades, { prefix: [account], reverse: true, limit: 10 })) {
      // Only read.
    }
  }
}
