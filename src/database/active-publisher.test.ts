import { expect, test } from "vitest";
import { SessionRecords } from "../observer/session-records.js";
import { openTest } from "../observer/test-context.js";
import { documents, length } from "../observer/test-documents.js";
import { TestEnvironment } from "../observer/test-environment.js";
import { memoryStore } from "../store/memory/index.js";
import { putHint, systemCell } from "../transaction/index.js";
import { ActivePublisher, oldestPublished } from "./active-publisher.js";
import { open } from "./open.js";

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
    // Two minutes are as long as any record counts.
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

test("collection goes on with records of processes and sessions that cannot be read", async () => {
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
