import { int, observer, open, table, text } from "percolatordb";
import { combiningCounter, derive, exportQueue } from "percolatordb/recipes";
import { expect, test } from "vitest";
import { commit } from "../support/settling.js";

const orders = table("orders", { day: text(), total: int(), state: text() });

test("chains through derived tables, counters and export queues settle", async () => {
  const paid = combiningCounter("paid");
  const sent: string[] = [];
  const mails = exportQueue("mails", {
    value: text(),
    deliver: async (items) => {
      for (const { value } of items) sent.push(value);
    },
  });
  const count = observer("count", orders.state, async (tx, { row, value }) => {
    if (value !== "paid") return;
    paid.add(tx, "all", 1);
    await mails.add(tx, row, `thanks for ${row}`);
  });
  const revenue = derive("revenue", {
    from: orders,
    key: [text()],
    groupBy: (order) => [order.day],
    count: true,
    sum: (order) => order.total,
  });
  await using db = await open("memory:", {
    tables: [orders, ...paid.tables, ...mails.tables, ...revenue.tables],
    observers: [count, paid.observer, mails.observer, ...revenue.observers],
  });
  await using _ = db.work();
  for (let order = 1; order <= 4; order++) {
    const each = await commit(db, (tx) => {
      tx.set(orders.day, `o${order}`, "monday");
      tx.set(orders.total, `o${order}`, 10);
      tx.set(orders.state, `o${order}`, "paid");
    });
    await db.settled(each);
    await using snapshot = await db.snapshot();
    expect(await snapshot.get(paid.values, "all")).toBe(order);
    expect(sent.at(-1)).toBe(`thanks for o${order}`);
    expect(await snapshot.row(revenue.table, ["monday"])).toMatchObject({ count: order, sum: order * 10 });
  }
});
