import { type Database, open } from "percolatordb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { audit } from "./audit.js";
import { type Act, accountOf, actOf, brokerOf, Market, securityOf, seed } from "./market.js";
import { Pace } from "./pace.js";
import {
  accounts,
  commission,
  commissions,
  holdings,
  observers,
  securities,
  tables,
  trades,
} from "./tables.js";

const acted = 120;
type Order = Extract<Act, { action: "order" }>;
const acts = Array.from({ length: acted }, (_, number) => [number, actOf(number)] as const);
const orders = acts.flatMap(([, act]) => (act.action === "order" ? [act] : []));

test("each transaction's number determines what it does, in the wanted proportions", () => {
  expect(actOf(17)).toEqual(actOf(17));
  const counts: Record<string, number> = {};
  for (let number = 0; number < 10_000; number++) {
    const { action } = actOf(number);
    counts[action] = (counts[action] ?? 0) + 1;
  }
  const shares = Object.entries(counts).map(([action, count]) => [action, Math.round(count / 500) * 5]);
  expect(Object.fromEntries(shares)).toEqual({ order: 30, feed: 5, position: 35, lookup: 30 });
});

describe("an audit", () => {
  let db: Database;

  beforeEach(async () => {
    db = await open("memory:", { tables, observers });
    await seed(db);
  });

  afterEach(() => db.close());

  async function act(but?: number): Promise<void> {
    const market = new Market(db, new Pace(acted));
    for (const [number] of acts) if (number !== but) await market.act(number);
    await db.drain();
  }

  const numberOf = (action: Act["action"]) => acts.find(([, each]) => each.action === action)![0];

  test("finds nothing if everything is correct", async () => {
    await act();
    expect(orders.length).toBeGreaterThan(10);
    expect(await audit(db, acted)).toEqual([]);
  });

  test("finds an order that was lost before it was written", async () => {
    const number = numberOf("order");
    await act(number);
    const { row, order } = actOf(number) as Order;
    expect(await audit(db, acted)).toEqual([`The trade ${row.join(" ")} is missing: ${order}.`]);
  });

  test("finds orders that were never placed", async () => {
    await act();
    const { row, order } = orders.at(-1)!;
    expect(await audit(db, Number(row[1]))).toContain(
      `The order of trade ${row.join(" ")} is ${order}, not undefined.`,
    );
  });

  test("finds an order that differs from the one that was placed", async () => {
    await act();
    const { row, order } = orders[0]!;
    await db.transact((tx) => tx.set(trades.order, row, `${order}0`));
    expect(await audit(db, acted)).toContain(
      `The order of trade ${row.join(" ")} is ${order}0, not ${order}.`,
    );
  });

  test("finds an order that was not settled", async () => {
    await act();
    const { row } = orders[0]!;
    await db.transact((tx) => tx.delete(trades.settled, row));
    expect(await audit(db, acted)).toContain(`The trade ${row.join(" ")} was not settled.`);
  });

  test("finds a commission that went to another broker, though the sum is the same", async () => {
    await act();
    const brokers = new Set(orders.map(({ row }) => brokerOf(Number(row[0].slice(1)))));
    const [from, to] = [...brokers] as [string, string];
    const paid = async (broker: string) => (await (await db.snapshot()).get(commissions.values, broker)) ?? 0;
    const [least, most] = [await paid(from), await paid(to)];
    await db.transact((tx) => {
      tx.set(commissions.values, from, least - commission);
      tx.set(commissions.values, to, most + commission);
    });
    const wrong = await audit(db, acted);
    expect(wrong).toHaveLength(2);
    expect(wrong).toContain(`Broker ${from} has ${least - commission}, not ${least}.`);
    expect(wrong).toContain(`Broker ${to} has ${most + commission}, not ${most}.`);
  });

  test("finds cash and securities that were not moved, moved twice, or lost", async () => {
    await act();
    const [one, two] = orders as [Order, Order];
    const holding = [two.row[0], two.order.split(" ")[0]!] as const;
    await db.transact(async (tx) => {
      tx.set(accounts.cash, one.row[0], ((await tx.get(accounts.cash, one.row[0])) ?? 0) - 1);
      tx.delete(accounts.cash, accountOf(4_999));
      tx.delete(holdings.quantity, holding);
      tx.set(holdings.quantity, ["a000000", "s0000"], 1);
    });
    const wrong = await audit(db, acted);
    expect(wrong.map((line) => line.replace(/ has .*/, " has"))).toEqual([
      `Account ${one.row[0]} has`,
      `Account ${accountOf(4_999)} is missing.`,
      "Holding a000000 s0000 has",
      `Holding ${holding.join(" ")} is missing.`,
    ]);
  });

  test("finds a price that the feeds did not set", async () => {
    const number = numberOf("feed");
    await act(number);
    const { changes } = actOf(number) as Extract<Act, { action: "feed" }>;
    const moved = [...new Map(changes)].filter(([, by]) => by !== 0).map(([security]) => security);
    const wrong = await audit(db, acted);
    expect(wrong.map((line) => line.split(" ")[1]).sort()).toEqual([...moved].sort());
    await db.transact((tx) => tx.delete(securities.price, securityOf(499)));
    expect(await audit(db, acted)).toContain(`Security ${securityOf(499)} is missing.`);
  });
});
