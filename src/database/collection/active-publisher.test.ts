import { expect, test, vi } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents, length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { SessionRecords } from "../../observer/session/session-records.js";
import { memoryStore } from "../../store/memory/index.js";
import { putHint, systemCell } from "../../transaction/index.js";
import { open } from "../open.js";
import { ActivePublisher, oldestPublished } from "./active-publisher.js";
import { strayRecords } from "./stray-records.js";

const garbage = [Buffer.from("{"), Buffer.from('{"oldest":"a","expires":1}'), Buffer.alloc(0)];

test.each(garbage.map((value) => [value.toString(), value] as const))(
  "a published snapshot that reads %j is reported, holds nothing back, and expires by its age",
  async (_, value) => {
    const environment = new TestEnvironment();
    const db = await openTest({ environment });
    const { table, row, column } = systemCell("active/other", "oldest");
    const written = Math.floor(environment.now() * 1_000);
    await db.store.mutate({ table, row, guards: [], mutations: [putHint(column, written, value)] });
    const mutations = [
      { type: "put", column, part: "write", timestamp: written, value: Buffer.from([255]) },
    ] as const;
    await db.store.mutate({ ...systemCell("active/broken", "oldest"), guards: [], mutations });
    const publisher = new ActivePublisher(db.context, "healthy");
    const oldest = Math.floor((environment.now() - 1_000_000) * 1_000);
    const unregister = db.context.active.register(oldest);
    await environment.advance(31_000);
    expect(await oldestPublished(db.context)).toBe(oldest);
    const doing = ["broken", "other"].map((name) => `reading the oldest snapshot of process ${name}`);
    expect(db.failures.map((failure) => failure.doing)).toEqual(doing);
    // A published record counts for at most two minutes.
    await environment.advance(90_000);
    await oldestPublished(db.context);
    db.failures.splice(0);
    expect(await oldestPublished(db.context)).toBe(oldest);
    expect(db.failures).toEqual([]);
    unregister();
    await publisher.stop();
    await db.close();
  },
);

test("a published snapshot that claims to count for years holds nothing back, and is reported by check and doctor", async () => {
  const environment = new TestEnvironment();
  const db = await openTest({ environment });
  const { table, row, column } = systemCell("active/wrong", "oldest");
  // The process had its clock in another year when it wrote the record, and then died.
  const future = environment.now() + 10 * 365 * 86_400_000;
  const record = Buffer.from(JSON.stringify({ oldest: 1, expires: future }));
  await db.store.mutate({ table, row, guards: [], mutations: [putHint(column, future * 1_000, record)] });
  expect(await strayRecords(db.context)).toMatchObject([
    { invariant: "expires", where: "oldest snapshot of process wrong" },
  ]);
  expect(await oldestPublished(db.context)).toBe(Number.POSITIVE_INFINITY);
  expect(await strayRecords(db.context)).toEqual([]);
  // A record from a process whose clock is some minutes ahead counts, but for no longer than any
  // other record.
  const ahead = environment.now() + 600_000;
  const believed = Buffer.from(JSON.stringify({ oldest: 7, expires: ahead }));
  await db.store.mutate({ table, row, guards: [], mutations: [putHint(column, 8, believed)] });
  expect(await strayRecords(db.context)).toEqual([]);
  expect(await oldestPublished(db.context)).toBe(7);
  await environment.advance(600_001);
  await oldestPublished(db.context);
  expect(await oldestPublished(db.context)).toBe(Number.POSITIVE_INFINITY);
  await db.close();
});

test("check reports records of processes that last for years, and unreadable ones", async () => {
  const store = memoryStore();
  await using db = await open(store, { collectEveryMs: 0 });
  expect(await db.check()).toEqual([]);
  const texts = {
    "session/years": JSON.stringify({ observers: {}, expires: 8e15, process: "p" }),
    "session/broken": "{",
  };
  for (const [name, text] of Object.entries(texts)) {
    const cell = systemCell(name, "state");
    const mutations = [putHint(cell.column, 1, Buffer.from(text))];
    await store.mutate({ table: cell.table, row: cell.row, guards: [], mutations });
  }
  const problems = await db.check();
  expect(problems.map(({ invariant, where }) => `${invariant} ${where}`).sort()).toEqual([
    "expires session years",
    "readable session broken",
  ]);
  expect(await db.check({ maxProblems: 1 })).toHaveLength(1);
});

test("garbage collection ignores unreadable records of processes and sessions", async () => {
  const store = memoryStore();
  const db = await open(store, { observers: [length], collectEveryMs: 0 });
  for (const value of ["1", "2", "3"]) await db.transact((tx) => tx.set(documents.contents, "a", value));
  await db.drain();
  const now = Date.now() * 1_000;
  for (const [name, column] of [
    ["active/other", "oldest"],
    ["session/other", "state"],
  ] as const) {
    const cell = systemCell(name, column);
    const mutations = [putHint(cell.column, name === "active/other" ? now : 1, Buffer.from("{"))];
    await store.mutate({ table: cell.table, row: cell.row, guards: [], mutations });
  }
  const report = await db.collect({ retentionMs: 0 });
  expect(report.versionsDropped).toBeGreaterThan(0);
  const worker = db.work();
  await db.transact((tx) => tx.set(documents.contents, "a", "four"));
  await worker.idle();
  const sessions = async () => {
    const found: string[] = [];
    for await (const [session] of new SessionRecords(store, () => {}).all()) found.push(session);
    return found;
  };
  while ((await sessions()).includes("other")) await new Promise((resolve) => setTimeout(resolve, 20));
  expect((await db.collect({ retentionMs: 0 })).versionsDropped).toBeGreaterThan(0);
  await worker.stop();
  await db.close();
});

test("snapshots of one old moment that begin together are published once, and `signal` ends their wait", async () => {
  const environment = new TestEnvironment();
  const store = memoryStore({ environment });
  const options = { tables: [documents], environment, collectEveryMs: 0, retentionMs: 600_000 };
  await using db = await open(store, options);
  const { commitTimestamp } = await db.transact((tx) => {
    tx.set(documents.contents, "a", "old");
    return tx;
  });
  const at = commitTimestamp!;
  await environment.advance(300_000);
  const mutate = vi.spyOn(store, "mutate");
  await Promise.all(Array.from({ length: 20 }, () => db.snapshot({ at })));
  expect(mutate).toHaveBeenCalledTimes(1);
  let answer = (): void => {};
  mutate.mockImplementation(() => new Promise((resolve) => (answer = () => resolve("applied"))));
  const aborting = new AbortController();
  const waiting = db.snapshot({ at: at - 1, signal: aborting.signal });
  aborting.abort();
  await expect(waiting).rejects.toThrow("Opening a snapshot was aborted");
  mutate.mockRestore();
  answer();
});

test("another process does not collect what a snapshot at an old moment reads", async () => {
  const environment = new TestEnvironment();
  const store = memoryStore({ environment });
  const options = { tables: [documents], environment, collectEveryMs: 0, retentionMs: 600_000 };
  await using db = await open(store, options);
  await using other = await open(store, options);
  const write = (value: string) =>
    db.transact((tx) => {
      tx.set(documents.contents, "a", value);
      return tx;
    });
  const { commitTimestamp } = await write("old");
  await environment.advance(1_000);
  await write("new");
  await environment.advance(300_000);
  const snapshot = await db.snapshot({ at: commitTimestamp });
  const { safepoint } = await other.collect({ retentionMs: 0 });
  expect(safepoint).toBe(commitTimestamp);
  expect(await snapshot.get(documents.contents, "a")).toBe("old");
  await snapshot.close();
  // Others learn of the end later, and this process knows it.
  expect((await other.collect({ retentionMs: 0 })).safepoint).toBe(commitTimestamp);
  expect((await db.collect({ retentionMs: 0 })).safepoint).toBeGreaterThan(commitTimestamp!);
  await environment.advance(60_000);
  expect((await other.collect({ retentionMs: 0 })).safepoint).toBeGreaterThan(commitTimestamp!);
});
