import { describe, expect, test } from "vitest";
import { countHints, openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { taskFor } from "../../../test/support/observer/task.js";
import { definition } from "../../schema/index.js";
import { check } from "../../transaction/index.js";
import { GiveUp } from "../change.js";
import { readHints } from "../hint/hint.js";
import { backfill, listParked, observer, parkedTable, unregister } from "../index.js";
import { attempt } from "./attempt.js";
import { park } from "./park.js";

const modes = ["one-phase", "two-phase"] as const;
const error = new Error("Its process ended.");

async function parkedIn({ registry }: TestDatabase): Promise<readonly { readonly attempts: number }[]> {
  const found: { attempts: number }[] = [];
  for await (const { attempts } of listParked(registry)) found.push({ attempts });
  return found;
}

/** Checks that each due change has a hint or is parked. */
async function expectWhole({ context }: TestDatabase): Promise<void> {
  expect(await check(context, [documents[definition].name, parkedTable])).toEqual([]);
}

test.each(modes)("parking an older change late leaves a newer one parked (%s)", async (commit) => {
  const failing = observer(
    "failing",
    documents.contents,
    () => {
      throw new Error("bad");
    },
    { attempts: 1 },
  );
  const db = await openTest({ commit, observers: [failing] });
  const write = (value: string) => db.transact((tx) => tx.set(documents.contents, "a", value));
  await write("one");
  const [old] = await hintsOf(db);
  await write("two");
  await db.pool.drain();
  expect(await parkedIn(db)).toEqual([{ attempts: 1 }]);
  await park(db.registry, taskFor(failing, "a", old!), old!, 7, error);
  expect(await parkedIn(db)).toEqual([{ attempts: 1 }]);
  expect(await countHints(db.store)).toEqual({});
  // The newer change still counts as parked, so the observer does not run for it.
  const task = taskFor(failing, "a", Number.MAX_SAFE_INTEGER);
  const result = await attempt({ registry: db.registry, task, giveUp: new GiveUp(), onLong: () => {} });
  expect(result.outcome).toBe("clean");
  await expectWhole(db);
  await db.close();
});

test.each(modes)(
  "a new version is parked on a change that the old one handled later (%s)",
  async (commit) => {
    const make = (version: number) => observer("versioned", documents.contents, () => {}, { version });
    const old = await openTest({ commit, observers: [make(1)] });
    await old.transact((tx) => tx.set(documents.contents, "a", "one"));
    const [change] = await hintsOf(old);
    await old.pool.drain();
    const db = await openTest({ commit, store: old.store, observers: [make(2)] });
    await backfill(db.registry, "versioned");
    expect(await countHints(db.store)).toEqual({ versioned: 1 });
    // Parks the change at its own commit timestamp. This happens if the process ended again and
    // again before any run had a start timestamp.
    await park(db.registry, taskFor(make(2), "a", change!), change!, 3, error);
    expect(await parkedIn(db)).toEqual([{ attempts: 3 }]);
    const task = taskFor(make(2), "a", Number.MAX_SAFE_INTEGER);
    const result = await attempt({ registry: db.registry, task, giveUp: new GiveUp(), onLong: () => {} });
    expect(result.outcome).toBe("clean");
    await expectWhole(db);
    await old.close();
    await db.close();
  },
);

test.each(modes)(
  "an observer parks nothing for the next one of its name, of another column (%s)",
  async (commit) => {
    const old = observer("reused", documents.contents, () => {});
    const db = await openTest({ commit, observers: [old] });
    await db.transact((tx) => tx.set(documents.contents, "a", "one"));
    const [change] = await hintsOf(db);
    await unregister(db.registry, "reused");
    await db.registry.register([], [observer("reused", documents.length, () => {})]);
    expect(await park(db.registry, taskFor(old, "a", change!), change!, 1, error)).toBe(false);
    expect(await parkedIn(db)).toEqual([]);
    await db.close();
  },
);

describe.each(modes)("an old version that fails when a new one is registered (%s)", (commit) => {
  const make = (version: number, run: () => unknown = () => {}) =>
    observer("versioned", documents.contents, run, { version, attempts: 1 });

  test("parks nothing for the new one", async () => {
    const old = await openTest({ commit, observers: [make(1)] });
    await old.transact((tx) => tx.set(documents.contents, "a", "one"));
    const [change] = await hintsOf(old);
    const start = await old.context.oracle.next();
    const db = await openTest({ commit, store: old.store, observers: [make(2)] });
    await backfill(db.registry, "versioned");
    expect(await park(old.registry, taskFor(make(1), "a", change!), start, 1, error)).toBe(false);
    expect(await parkedIn(db)).toEqual([]);
    expect(await countHints(db.store)).toEqual({ versioned: 1 });
    const task = taskFor(make(2), "a", Number.MAX_SAFE_INTEGER);
    const result = await attempt({ registry: db.registry, task, giveUp: new GiveUp(), onLong: () => {} });
    expect(result.outcome).toBe("committed");
    await expectWhole(db);
    await old.close();
    await db.close();
  });

  test.each(["short", "long"])("leaves the hint as it was, after a %s run", async (run) => {
    const environment = new TestEnvironment();
    let fail = () => {};
    const failure = new Promise<void>((_resolve, reject) => {
      fail = () => reject(error);
    });
    const failing = make(1, () => failure);
    const old = await openTest({ commit, environment, observers: [failing] });
    const worker = old.pool.work();
    await environment.advance(1_000);
    await old.transact((tx) => tx.set(documents.contents, "a", "one"));
    await environment.advance(run === "long" ? 1_500 : 500);
    const db = await openTest({ commit, environment, store: old.store, observers: [make(2)] });
    fail();
    await environment.until(worker.stop());
    expect(old.runs.map(({ outcome }) => outcome)).toEqual(["failed"]);
    const { hints } = await readHints(db.store, { start: undefined, end: undefined }, 10);
    expect(hints.map(({ state }) => state)).toEqual([{ attempts: 0, notBefore: 0 }]);
    await environment.until(db.pool.drain());
    expect(db.runs.map(({ outcome }) => outcome)).toEqual(["committed"]);
    await environment.until(old.close());
    await environment.until(db.close());
  });

  test("does not make the new one park a change that it still runs", async () => {
    const environment = new TestEnvironment();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const old = await openTest({ commit, environment, observers: [make(1, () => ended)] });
    old.pool.work();
    await environment.advance(1_000);
    await old.transact((tx) => tx.set(documents.contents, "a", "one"));
    await environment.advance(1_500);
    const db = await openTest({ commit, environment, store: old.store, observers: [make(2)] });
    db.pool.work();
    await environment.advance(5_000);
    expect(db.runs.map(({ outcome, attempts }) => [outcome, attempts])).toEqual([["committed", 0]]);
    expect(await parkedIn(db)).toEqual([]);
    expect(await countHints(db.store)).toEqual({});
    end();
    await environment.until(old.close());
    await environment.until(db.close());
  });
});

/** Commit timestamps of the changes that have hints. */
async function hintsOf({ store }: TestDatabase): Promise<readonly number[]> {
  const page = await readHints(store, { start: undefined, end: undefined }, 10);
  return page.hints.map(({ timestamp }) => timestamp);
}
