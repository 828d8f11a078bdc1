import type { Database } from "percolatordb";
import { randomNumbers } from "../data.js";
import type { Pace } from "./pace.js";
import {
  accounts,
  commission,
  commissions,
  holdings,
  orderOf,
  parseOrder,
  securities,
  trades,
} from "./tables.js";

const sizes = Object.freeze({ accounts: 5_000, securities: 500, brokers: 50 });
const firstCash = 1_000_000_00;
const atOnce = 500;

type Action = "order" | "feed" | "position" | "lookup";
/** Of a hundred transactions of a customer or the market. */
const mix: Readonly<Record<Action, number>> = { order: 30, feed: 5, position: 35, lookup: 30 };
const actions = (Object.keys(mix) as Action[]).flatMap((action) => Array<Action>(mix[action]).fill(action));

const accountOf = (index: number) => `a${String(index).padStart(6, "0")}`;
const securityOf = (index: number) => `s${String(index).padStart(4, "0")}`;
/** Each tenth account is with the first broker. */
const brokerOf = (account: number) => `b${account % 10 === 0 ? 0 : account % sizes.brokers}`;

type Random = (below: number) => number;
const anAccount = (random: Random) => accountOf(random(sizes.accounts));
const aSecurity = (random: Random) => securityOf(random(sizes.securities));

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
      tx.set(securities.price, securityOf(index), 1_000 + index);
  });
}

/** What customers and the market do in one process. Each transaction has a number, from which all follows that it does. */
export class Market {
  readonly #db: Database;
  readonly #pace: Pace;

  constructor(db: Database, pace: Pace) {
    this.#db = db;
    this.#pace = pace;
  }

  async act(number: number): Promise<void> {
    const random = randomNumbers(number + 1);
    const action = actions[random(actions.length)]!;
    await this[action](random, number);
  }

  async order(random: Random, number: number): Promise<void> {
    const row = [anAccount(random), String(number).padStart(8, "0")] as const;
    const order = orderOf(aSecurity(random), 1 + random(20) - random(10));
    await this.#pace.place();
    await this.#db.transact(async (tx) => tx.set(trades.order, row, order));
  }

  async feed(random: Random): Promise<void> {
    const changed = Array.from({ length: 5 }, () => [aSecurity(random), random(20) - 10] as const);
    await this.#db.transact(async (tx) => {
      const prices = await tx.getMany(
        securities.price,
        changed.map(([security]) => security),
      );
      for (const [index, [security, by]] of changed.entries())
        tx.set(securities.price, security, Math.max(1, (prices[index] ?? 0) + by));
    });
  }

  /** What an account is worth. */
  async position(random: Random): Promise<void> {
    const account = anAccount(random);
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

  /** The newest trades of an account. */
  async lookup(random: Random): Promise<void> {
    const account = anAccount(random);
    await using view = await this.#db.snapshot();
    for await (const _ of view.scan(trades, { prefix: [account], reverse: true, limit: 10 })) {
      // Looked at.
    }
  }
}

/** What does not add up, of all accounts; none where all is well. */
export async function audit(db: Database): Promise<readonly string[]> {
  await using view = await db.snapshot();
  const cash = new Map<string, number>();
  const held = new Map<string, number>();
  let settled = 0;
  const wrong: string[] = [];
  for await (const { row, value } of view.scan(trades)) {
    const [account] = row;
    if (value.settled === undefined || value.order === undefined) {
      wrong.push(`The trade ${row.join(" ")} was not settled.`);
      continue;
    }
    const [security, quantity] = parseOrder(value.order);
    settled++;
    cash.set(account, (cash.get(account) ?? firstCash) - value.settled * quantity - commission);
    held.set(`${account} ${security}`, (held.get(`${account} ${security}`) ?? 0) + quantity);
  }
  for await (const { row, value } of view.scan(accounts.cash))
    if (value !== (cash.get(row) ?? firstCash))
      wrong.push(`Account ${row} has ${value}, not ${cash.get(row)}.`);
  for await (const { row, value } of view.scan(holdings.quantity)) {
    const key = row.join(" ");
    if (value !== held.get(key)) wrong.push(`Holding ${key} is ${value}, not ${held.get(key)}.`);
    held.delete(key);
  }
  for (const key of held.keys()) wrong.push(`Holding ${key} is missing.`);
  let paid = 0;
  for await (const { value } of view.scan(commissions.values)) paid += value;
  if (paid !== settled * commission) wrong.push(`Brokers have ${paid}, not ${settled * commission}.`);
  return wrong;
}
