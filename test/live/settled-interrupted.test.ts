import { type Column, type Observer, observer, open, table, text } from "percolatordb";
import { exportQueue } from "percolatordb/recipes";
import { expect, test } from "vitest";
import {
  cells,
  chain,
  commit,
  copy,
  failureOf,
  listed,
  parkedOf,
  read,
  stuck,
  watched,
} from "../support/settling.js";
import { settle } from "./live-values.js";

/** An observer whose first run hangs until the test makes it fail. Later runs copy the value. */
function failingOnce(name: string, from: Column<number>, to: Column<number>) {
  let begin = () => {};
  let fail = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const failing = new Promise<void>((_, reject) => {
    fail = () => reject(new Error("out of order"));
  });
  failing.catch(() => undefined);
  let isFirst = true;
  const failed: Observer = observer(
    name,
    from,
    async (tx, { row, value }) => {
      begin();
      if (isFirst) await failing;
      tx.set(to, row, value!);
    },
    { attempts: 1 },
  );
  return {
    observer: failed,
    begun,
    fail: () => {
      fail();
      isFirst = false;
    },
  };
}

test("rejects if a cell in the middle of a chain is parked while it waits, whatever else is still due", async () => {
  const middle = failingOnce("b-to-c", cells.b, cells.c);
  const beside = stuck("beside", cells.a);
  await using db = await open("memory:", {
    observers: [chain[0]!, middle.observer, chain[2]!, beside.observer],
  });
  await using _ = db.work();
  try {
    const each = await commit(db, (tx) => tx.set(cells.a, "r", 1));
    const waiting = db.settled(each);
    const rejected = parkedOf(waiting);
    const { isOpen } = watched(waiting);
    await middle.begun;
    await settle();
    expect(isOpen()).toBe(true);
    middle.fail();
    const { parked } = await rejected;
    expect(parked).toMatchObject([{ observer: "b-to-c", row: "r", column: "b", error: "out of order" }]);
    // After the retry, the rest of the chain counts again, and so does what was due all the time.
    const [change] = await listed(db.parked());
    expect(await db.retry(change!)).toBe(true);
    await db.settled(each, { except: ["beside"] });
    expect(await read(db, cells.d, "r")).toBe(1);
    const last = db.settled(each);
    const { isOpen: isLastOpen } = watched(last);
    await settle();
    expect(isLastOpen()).toBe(true);
    beside.letGo();
    await last;
  } finally {
    beside.letGo();
  }
});

test("an observer in the middle of a chain that is unregistered while it waits ends the chain", async () => {
  const hanging = stuck("b-to-c", cells.b);
  await using db = await open("memory:", { observers: [chain[0]!, hanging.observer, chain[2]!] });
  await using _ = db.work();
  try {
    await db.settled(await commit(db, (tx) => tx.set(cells.other, "r", 1)));
    const each = await commit(db, (tx) => tx.set(cells.a, "r", 1));
    const waiting = db.settled(each);
    const { isOpen } = watched(waiting);
    while ((await read(db, cells.b, "r")) === undefined) await settle();
    expect(isOpen()).toBe(true);
    await db.unregister("b-to-c");
    await waiting;
    await db.settled(each);
    expect(await read(db, cells.c, "r")).toBeUndefined();
  } finally {
    hanging.letGo();
  }
});

test("what an unregistered observer has parked is no longer a failure", async () => {
  const failing = observer("failing", cells.b, () => Promise.reject(new Error("no")), { attempts: 1 });
  await using db = await open("memory:", {
    observers: [chain[0]!, failing, copy("b-to-d", cells.b, cells.d)],
  });
  await using _ = db.work();
  const older = await commit(db, (tx) => tx.set(cells.a, "older", 1));
  while ((await listed(db.parked())).length < 1) await settle();
  expect((await parkedOf(db.settled(older))).parked.map(({ row }) => row)).toEqual(["older"]);
  const each = await commit(db, (tx) => tx.set(cells.a, "r", 1));
  expect((await parkedOf(db.settled(each))).parked.map(({ row }) => row)).toEqual(["r"]);
  await db.unregister("failing");
  for (const settled of [older, each]) await db.settled(settled);
  expect(await read(db, cells.d, "r")).toBe(1);
});

test("an entry that waits in a queue behind one that cannot be delivered is named, and other keys settle", async () => {
  const orders = table("orders", { state: text() });
  const sent: string[] = [];
  let isBroken = true;
  const mails = exportQueue("mails", {
    value: text(),
    deliver: async (items) => {
      if (isBroken && items.some(({ key }) => key === "ann")) throw new Error("no such address");
      for (const { key, value } of items) sent.push(`${key}: ${value}`);
    },
    observer: { attempts: 1 },
  });
  const mail = observer("mail", orders.state, async (tx, { row, value }) => {
    await mails.add(tx, row.slice(0, 3), value!);
  });
  await using db = await open("memory:", {
    tables: [orders, ...mails.tables],
    observers: [mail, mails.observer],
  });
  await using _ = db.work();
  const order = (row: string, state: string) => commit(db, (tx) => tx.set(orders.state, row, state));
  // The first call may wait for all that is newer than its commit.
  await db.settled(await order("bob 0", "zero"));
  const first = await order("ann 1", "one");
  const { parked } = await parkedOf(db.settled(first));
  expect(parked).toMatchObject([
    { observer: mails.observer.name, error: expect.stringContaining("address") },
  ]);
  // The second entry of the key waits behind the first one, and the other key has its own turn.
  const second = await order("ann 2", "two");
  expect((await failureOf(db.settled(second))).code).toBe("DERIVATION_FAILED");
  await db.settled(await order("bob 1", "one"));
  isBroken = false;
  for await (const change of db.parked()) await db.retry(change);
  await Promise.all([db.settled(first), db.settled(second)]);
  expect(sent).toEqual(["bob: zero", "bob: one", "ann: one", "ann: two"]);
});
