import { expect, test } from "vitest";
import { busyLoop } from "../../../test/support/busy-loop.js";
import { bareContext } from "../../../test/support/context.js";
import { AbortedError } from "../../errors/index.js";
import { columnPath, int, table } from "../../schema/index.js";
import type { RowMutation, RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { readCells } from "../cell/raw.js";
import { encodeWrite } from "../cell/records.js";
import type { ColumnObserver, ObservedColumns } from "../context.js";
import { Snapshot } from "../read/snapshot.js";
import { Safepoint } from "../safepoint.js";
import { transact } from "../transact.js";
import { collect } from "./collect.js";

const accounts = table("accounts", { balance: int() });

/** A store that loses some requests: it does not apply them, and no caller notices. */
function losing(store: RowStore, isLost: (mutation: RowMutation) => boolean): RowStore {
  return {
    description: store.description,
    capabilities: store.capabilities,
    atomic: store.atomic,
    prepare: (tables) => store.prepare(tables),
    readRow: (read) => store.readRow(read),
    readRange: (read) => store.readRange(read),
    readRaw: (read) => store.readRaw(read),
    mutate: async (mutation) => (isLost(mutation) ? "unknown" : await store.mutate(mutation)),
    splitPoints: (name, most) => store.splitPoints(name, most),
    statistics: () => store.statistics(),
    close: () => store.close(),
  };
}

const dropsOldVersions = ({ table: name, guards }: RowMutation) => name === "accounts" && guards.length === 0;

test("a delete marker stays if the store does not confirm that the versions below it are removed", async () => {
  const store = memoryStore();
  const context = bareContext(store);
  await transact(context, (tx) => tx.set(accounts.balance, "alice", 1));
  await transact(context, (tx) => tx.delete(accounts.balance, "alice"));
  const unlucky = bareContext(losing(store, dropsOldVersions));
  await collect(unlucky, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  await using snapshot = new Snapshot(context, await context.oracle.latest());
  expect(await snapshot.get(accounts.balance, "alice")).toBeUndefined();

  // The next collection removes both the marker and the version.
  await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  expect(store.statistics()).toMatchObject({ cells: 1 });
});

/** A context on a store of one-row mutations, on which collection waits for other processes. */
function slowContext(isLost: (mutation: RowMutation) => boolean) {
  const store = losing(memoryStore({ atomicBatches: false }), isLost);
  const context = bareContext(store, { commit: "two-phase" });
  const oracle = { next: async () => 1, latest: () => 1 };
  return { ...context, oracle, safepoint: new Safepoint(store, context.environment, 60_000) };
}

test("if aborted while an oracle or the registry does not answer, it ends", async () => {
  const context = bareContext(memoryStore());
  const never = new Promise<never>(() => undefined);
  const silent = [
    { ...context, oracle: { next: () => never, latest: () => never } },
    { ...context, notifications: { ...context.notifications, fresh: () => never } },
  ];
  for (const each of silent) {
    const controller = new AbortController();
    const options = { retentionMs: 0, signal: controller.signal };
    const collecting = collect(each, ["accounts"], Number.POSITIVE_INFINITY, options);
    setImmediate(() => controller.abort());
    await expect(collecting).rejects.toBeInstanceOf(AbortedError);
  }
});

test("if aborted while it waits for others to learn of the safepoint, it reports that", async () => {
  const controller = new AbortController();
  const context = slowContext(() => {
    controller.abort("enough");
    return false;
  });
  const collecting = collect(context, ["accounts"], 1, { retentionMs: 0, signal: controller.signal });
  await expect(collecting).rejects.toThrow(AbortedError);
  await expect(collecting).rejects.toMatchObject({
    message: /^Garbage collection was aborted/,
    cause: "enough",
  });
});

test("it waits until every copy of an older safepoint is too old, and then for as long again", async () => {
  const context = slowContext(() => false);
  const waits: number[] = [];
  const setTimer = (run: () => void, ms: number) => {
    waits.push(ms);
    setImmediate(run);
    return { cancel: () => undefined };
  };
  const environment = { ...context.environment, setTimer };
  await collect({ ...context, environment }, ["accounts"], 1, { retentionMs: 0 });
  expect(waits).toContain(120_000);
});

test("if aborted before it has published the safepoint, it publishes none", async () => {
  let isPublished = false;
  const controller = new AbortController();
  const context = slowContext(() => {
    isPublished = true;
    return false;
  });
  const latest = () => {
    controller.abort("enough");
    return 1;
  };
  const aborting = { ...context, oracle: { ...context.oracle, latest } };
  const collecting = collect(aborting, ["accounts"], 1, { retentionMs: 0, signal: controller.signal });
  await expect(collecting).rejects.toThrow(AbortedError);
  expect(isPublished).toBe(false);
});

/** A context whose process has a clock that is a day ahead of the one that timestamps come from. */
function aheadContext(atomicBatches: boolean) {
  const store = memoryStore({ atomicBatches });
  const context = bareContext(store, { commit: atomicBatches ? "one-phase" : "two-phase" });
  const { environment } = context;
  let newest = 0;
  const ownCounter = {
    next: async () => (newest = Math.max(newest + 1, Math.floor(environment.now() * 1_000))),
    latest: () => newest,
  };
  const oracle = atomicBatches ? context.oracle : ownCounter;
  const ahead = { ...environment, now: () => environment.now() + 86_400_000 };
  return { ...context, oracle, environment: ahead, safepoint: new Safepoint(store, environment, 1) };
}

test("on a remote store, a clock that is ahead of the timestamps does not shorten the retention", async () => {
  const context = aheadContext(false);
  const issued = await context.oracle.next();
  const { safepoint } = await collect(context, ["accounts"], Number.POSITIVE_INFINITY, {
    retentionMs: 600_000,
  });
  expect(safepoint).toBeLessThan(issued - 599_000_000);
  expect(safepoint).toBeGreaterThan(issued - 700_000_000);
});

test.each([true, false])(
  "the safepoint is not above what was issued before (atomic: %s)",
  async (atomicBatches) => {
    const context = aheadContext(atomicBatches);
    const issued = await context.oracle.next();
    const { safepoint } = await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    expect(safepoint).toBe(issued);
  },
);

test("on a store of this machine, collection takes no timestamp", async () => {
  const context = aheadContext(true);
  const before = await context.oracle.next();
  await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  expect(await context.oracle.latest()).toBe(before);
});

test("a cell with thousands of versions is collected in pieces, each version read and removed once", async () => {
  const count = 3_000;
  const store = memoryStore();
  const context = bareContext(store);
  for (let i = 0; i < count; i++) await transact(context, (tx) => tx.set(accounts.balance, "alice", i));
  let most = 0;
  let read = 0;
  let deletes = 0;
  const watched: RowStore = {
    ...losing(store, () => false),
    readRaw: async (request) => {
      const page = await store.readRaw(request);
      for (const { cells } of page.rows)
        for (const { versions } of cells) {
          read += versions.length;
          most = Math.max(most, versions.length);
        }
      return page;
    },
    mutate: async (mutation) => {
      deletes += mutation.mutations.length;
      return await store.mutate(mutation);
    },
  };
  const report = await collect(bareContext(watched), ["accounts"], Number.POSITIVE_INFINITY, {
    retentionMs: 0,
  });
  expect(report.versionsDropped).toBe(count - 1);
  expect(most).toBeLessThanOrEqual(500);
  expect(read).toBeLessThanOrEqual(count + 500);
  // One delete removes a run of versions.
  expect(deletes).toBeLessThanOrEqual(count / 500 + 2);
  await using snapshot = new Snapshot(context, await context.oracle.latest());
  expect(await snapshot.get(accounts.balance, "alice")).toBe(count - 1);
});

test("in a busy process it does more between two turns, so that it does not fall behind", async () => {
  const rows = 2_000;
  const store = memoryStore();
  const context = bareContext(store);
  for (const value of [1, 2]) {
    await transact(context, (tx) => {
      for (let row = 0; row < rows; row++) tx.set(accounts.balance, `account ${row}`, value);
    });
  }
  const pagesAndTurns = async (turnMs: number) => {
    const loop = busyLoop(turnMs);
    let pages = 0;
    const watched: RowStore = {
      ...losing(store, dropsOldVersions),
      readRaw: (request) => {
        pages++;
        return store.readRaw(request);
      },
    };
    const busy = { ...bareContext(watched), environment: loop.environment };
    const { cellsSeen } = await collect(busy, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    expect(cellsSeen).toBe(rows);
    return [pages, loop.turns];
  };
  const [pages] = await pagesAndTurns(0);
  expect(pages).toBeGreaterThan(5);
  expect(await pagesAndTurns(0)).toEqual([pages, pages]);
  expect(await pagesAndTurns(200)).toEqual([pages, 1]);
});

test("a value stays that a later write record names, though it began at the kept commit", async () => {
  const store = memoryStore();
  const context = { ...bareContext(store), oracle: { next: async () => 101, latest: () => 100 } };
  const cell = { table: "accounts", row: Buffer.from("alice"), guards: [] };
  const column = columnPath("balance");
  const put = (part: "write" | "data", timestamp: number, value: Uint8Array) =>
    ({ type: "put", column, part, timestamp, value }) as const;
  const inline = encodeWrite({ start: 10, kind: "put", onePhase: false, value: Buffer.from("old") });
  const elsewhere = encodeWrite({ start: 20, kind: "put", onePhase: false, value: undefined });
  const mutations = [
    put("write", 20, inline),
    put("data", 15, Buffer.from("of nobody")),
    put("data", 20, Buffer.from("new")),
    put("write", 30, elsewhere),
  ];
  await store.mutate({ ...cell, mutations });
  const { safepoint } = await collect(context, ["accounts"], 25, { retentionMs: 0 });
  expect(safepoint).toBe(25);
  const left = await readCells(store, { ...cell, column }, ["data"], 0, Number.POSITIVE_INFINITY);
  expect(left.map(({ timestamp }) => timestamp)).toEqual([20]);
});

const never = Number.MAX_SAFE_INTEGER;

test.each([
  // Registered after the deletion, which therefore has no hint for it.
  { since: never, acknowledged: 0, passed: false, left: 1 },
  { since: never, acknowledged: 0, passed: true, left: 0 },
  // An observer of the same name, registered before, had handled the deletion.
  { since: never, acknowledged: never - 1, passed: false, left: 1 },
  { since: 0, acknowledged: never - 1, passed: false, left: 0 },
])(
  "a deletion leaves $left versions if its observer, registered at $since, acknowledged $acknowledged and a backfill has passed it: $passed",
  async ({ since, acknowledged, passed, left }) => {
    const store = memoryStore();
    const bare = bareContext(store);
    await transact(bare, (tx) => tx.delete(accounts.balance, "alice"));
    const observer: ColumnObserver = {
      name: "o",
      acknowledgment: Buffer.from("~ack\0o\0balance"),
      parked: Buffer.from("~parked\0o\0balance"),
      since,
      acknowledged: () => acknowledged,
      acknowledging: () => Buffer.alloc(8),
      passed: () => passed,
    };
    const cell = { table: "accounts", row: Buffer.from("alice"), column: columnPath("balance") };
    const value = encodeWrite({ start: 1, kind: "put", onePhase: true, value: Buffer.alloc(8) });
    const record = {
      type: "put",
      column: observer.acknowledgment,
      part: "write",
      timestamp: 1,
      value,
    } as const;
    await store.mutate({ ...cell, guards: [], mutations: [record] });
    const view: ObservedColumns = { ...(await bare.notifications.fresh()), observersOf: () => [observer] };
    const context = { ...bare, notifications: { ...bare.notifications, fresh: () => view } };
    await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    expect(await readCells(store, cell, ["write"], 0, Number.POSITIVE_INFINITY)).toHaveLength(left);
  },
);
