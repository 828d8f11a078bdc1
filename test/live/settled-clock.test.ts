import { observer, open, signal, table } from "percolatordb";
import { TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";
import { cells, chain, commit, listed, parkedOf, read, stuck } from "../support/settling.js";
import { pause } from "../support/waiting.js";

/*
 * The clock stands still. So no timer ends a wait here, only what commits and runs say: the look at
 * changes that are due for long never happens.
 */

test("chains settle by what runs say, without the passing of time", async () => {
  await using db = await open("memory:", { observers: chain, environment: new TestClock().process() });
  await using _ = db.work();
  for (let value = 1; value <= 3; value++) {
    await db.settled(await commit(db, (tx) => tx.set(cells.a, "r", value)));
    expect(await read(db, cells.d, "r")).toBe(value);
  }
});

test.each(["one-phase", "two-phase"] as const)("signals settle, in %s", async (how) => {
  const pings = table("pings", { ping: signal() });
  const ran: string[] = [];
  const onPing = observer("on-ping", pings.ping, (_, { row }) => {
    ran.push(row);
  });
  const commitMode = how === "two-phase" ? { commit: "two-phase" as const } : {};
  const environment = new TestClock().process();
  await using db = await open("memory:", { observers: [onPing], environment, ...commitMode });
  await using _ = db.work();
  await db.settled(await commit(db, (tx) => tx.notify(pings.ping, "warm")));
  await db.settled(await commit(db, (tx) => tx.notify(pings.ping, "r")));
  expect(ran).toContain("r");
});

test("a parked change settles by its discard, and by a run after its retry", async () => {
  let isBroken = true;
  const failing = observer(
    "failing",
    cells.a,
    (tx, { row, value }) => {
      if (isBroken) throw new Error("no");
      tx.set(cells.b, row, value!);
    },
    { attempts: 1 },
  );
  await using db = await open("memory:", { observers: [failing], environment: new TestClock().process() });
  await using _ = db.work();
  for (const how of ["warm", "discard", "retry"] as const) {
    isBroken = true;
    const each = await commit(db, (tx) => tx.set(cells.a, how, 1));
    await parkedOf(db.settled(each));
    const [parked] = await listed(db.parked());
    isBroken = false;
    if (how === "retry") await db.retry(parked!);
    else await db.discard(parked!);
    await db.settled(each);
    expect(await read(db, cells.b, how)).toBe(how === "retry" ? 1 : undefined);
  }
});

test("the first call is exact for a commit of this process whose observers ran here", async () => {
  const hanging = stuck("hanging", cells.other);
  const failing = observer(
    "failing",
    cells.count,
    () => {
      throw new Error("no");
    },
    { attempts: 1 },
  );
  const observers = [...chain, hanging.observer, failing];
  await using db = await open("memory:", { observers, environment: new TestClock().process() });
  await using _ = db.work();
  try {
    const each = await commit(db, (tx) => tx.set(cells.a, "r", 1));
    while ((await read(db, cells.d, "r")) === undefined) await pause(1);
    // Both are newer than the commit, and neither is of its making.
    await commit(db, (tx) => tx.set(cells.other, "r", 1));
    await commit(db, (tx) => tx.set(cells.count, "r", 1));
    while ((await listed(db.parked())).length === 0) await pause(1);
    await db.settled(each);
  } finally {
    hanging.letGo();
  }
});

test("the first call names what the commit itself has parked, and nothing that others have", async () => {
  const failing = (name: string, column: typeof cells.b) =>
    observer(name, column, () => Promise.reject(new Error(name)), { attempts: 1 });
  const observers = [chain[0]!, failing("caused", cells.b), failing("unrelated", cells.count)];
  await using db = await open("memory:", { observers, environment: new TestClock().process() });
  await using _ = db.work();
  const each = await commit(db, (tx) => tx.set(cells.a, "r", 1));
  await commit(db, (tx) => tx.set(cells.count, "r", 1));
  while ((await listed(db.parked())).length < 2) await pause(1);
  const { parked } = await parkedOf(db.settled(each));
  expect(parked).toMatchObject([{ observer: "caused", row: "r", column: "b" }]);
});
