import { afterEach, describe, expect, test } from "vitest";
import {
  countHints,
  openTest,
  type TestDatabase,
  type TestOptions,
} from "../../../test/support/observer/context.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { int, table, text, tuple } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { batchObserver, listPending, type Observer, observer, unregister } from "../index.js";

const pages = table("pages", { url: text(), other: text() });
const sites = table("sites", { url: text() });
const counts = table("counts", { count: int() }, { key: tuple(int()) });
const numbers = table("numbers", { url: int() }, { key: tuple(int()) });

let environment = new TestEnvironment();
const open: TestDatabase[] = [];

async function start(options: TestOptions): Promise<TestDatabase> {
  const db = await openTest({ environment, ...options });
  open.push(db);
  return db;
}

afterEach(async () => {
  for (const db of open.splice(0)) await environment.until(db.close());
  environment = new TestEnvironment();
});

/** A program with observer "o" of `pages.url` that works on while `next` is registered in its place. */
async function replaced(calls: string[], next: Observer) {
  const run = (_tx: unknown, { value }: { readonly value: string | undefined }) =>
    void calls.push(`${value}`);
  const old = await start({ observers: [observer("o", pages.url, run)] });
  const worker = old.pool.work();
  await environment.until(worker.idle());
  await environment.until(unregister(old.registry, "o"));
  return { old, worker, now: await start({ store: old.store, observers: [next] }) };
}

describe("a running program leaves the changes of another observer that has got the name of its own", () => {
  test("of a column of another table", async () => {
    const [wrong, seen]: [string[], string[]] = [[], []];
    const next = observer("o", sites.url, (_tx, { row }) => void seen.push(row));
    const { old, worker, now } = await replaced(wrong, next);
    await now.transact((tx) => tx.set(sites.url, "r", "x"));
    await environment.advance(1_000);
    expect(await countHints(old.store)).toEqual({ o: 1 });
    const text =
      'Observer "o" is now registered for the column sites.url; this program has it for the column pages.url and no longer runs it.';
    expect(await worker.readiness()).toEqual({ isReady: false, isObsolete: true, reasons: [text] });
    expect(old.failures).toHaveLength(1);
    await environment.until(now.pool.drain());
    expect([wrong, seen]).toEqual([[], ["r"]]);
  });

  test("of another column", async () => {
    const [wrong, seen]: [string[], string[]] = [[], []];
    const next = observer("o", pages.other, (_tx, { value }) => void seen.push(`${value}`));
    const { old, now } = await replaced(wrong, next);
    // Its own commits leave hints for the new observer too.
    await old.transact((tx) => tx.set(pages.other, "r", "x"));
    await environment.advance(1_000);
    expect(wrong).toEqual([]);
    await environment.until(now.pool.drain());
    expect([wrong, seen]).toEqual([[], ["x"]]);
  });

  test("of another column, also while its copy of the registry on a server is old", async () => {
    const store = memoryStore({ environment, remote: true });
    const old = await start({ store, observers: [observer("o", pages.url, () => {})] });
    const now = await start({ store });
    await environment.until(unregister(now.registry, "o"));
    const next = observer("o", pages.other, () => {});
    await now.registry.register([pages], [next]);
    await now.transact((tx) => tx.set(pages.other, "r", "x"));
    old.pool.work();
    await environment.advance(300);
    expect(await countHints(store)).toEqual({ o: 1 });
    await environment.advance(5_000);
    expect(await countHints(store)).toEqual({ o: 1 });
  });
});

/** A store with hints that an interrupted `unregister` of observer "o" of `pages.url` has left. */
async function leftHints(): Promise<TestDatabase> {
  const db = await start({ observers: [observer("o", pages.url, () => {})] });
  await db.transact((tx) => {
    for (let index = 0; index < 300; index++) tx.set(pages.url, `row ${index}`, `url ${index}`);
  });
  const controller = new AbortController();
  const interrupted = unregister(db.registry, "o", {
    signal: controller.signal,
    onProgress: () => controller.abort(),
  });
  await expect(environment.until(interrupted)).rejects.toMatchObject({ code: "ABORTED" });
  expect((await countHints(db.store)).o).toBeGreaterThan(0);
  return db;
}

async function pendingOf({ registry }: TestDatabase): Promise<readonly unknown[]> {
  const rows: unknown[] = [];
  for await (const { row } of listPending(registry)) rows.push(row);
  return rows;
}

describe("hints that an interrupted `unregister` has left do not run the next observer of the name", () => {
  const seen: unknown[] = [];
  afterEach(() => void seen.splice(0));

  test.each([
    ["an observer", observer("o", pages.other, (_tx, { value }) => void seen.push(value))],
    [
      "a batch observer",
      batchObserver("o", pages.other, (_tx, changes) => void seen.push(...changes.map(({ value }) => value))),
    ],
  ])("%s of another column", async (_, next) => {
    const { store } = await leftHints();
    const db = await start({ store, observers: [next] });
    await db.transact((tx) => tx.set(pages.other, "row 7", "other"));
    expect(await pendingOf(db)).toEqual(["row 7"]);
    await environment.until(db.pool.drain());
    expect(seen).toEqual(["other"]);
    expect(await countHints(store)).toEqual({});
  });

  test.each([
    ["other keys", counts.count],
    ["other keys and the same column", numbers.url],
  ] as const)(
    "a list of what is due ignores them, also if the next observer's table has %s",
    async (_, column) => {
      const { store } = await leftHints();
      const next = observer("o", column, (_tx, { row }) => void seen.push(row));
      const db = await start({ store, observers: [next] });
      await db.transact((tx) => tx.set(column, [5], 1));
      expect(await pendingOf(db)).toEqual([[5]]);
      await environment.until(db.pool.drain());
      expect(seen).toEqual([[5]]);
      expect(await countHints(store)).toEqual({});
    },
  );
});
