import { type Database, type Observer, type Oracle, observer, open } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { describe, expect, test } from "vitest";
import { openAlone, temporaryFolder } from "../support/databases.js";
import { cells, chain, commit, copy, failureOf, listed, parkedOf, read, stuck } from "../support/settling.js";
import { pause } from "../support/waiting.js";

type Open = (observers: readonly Observer[]) => Promise<Database>;

/** Opens databases of one store, as several processes do. */
const places: readonly (readonly [
  string,
  () => Promise<{ openHere: Open; remove?: () => Promise<void> }>,
])[] = [
  [
    "a folder",
    async () => {
      const { path, remove } = await temporaryFolder();
      return { openHere: (observers) => open(path, { observers, tables: [cells] }), remove };
    },
  ],
  [
    "one store, in two phases",
    async () => {
      const store = memoryStore();
      return { openHere: (observers) => open(store, { observers, tables: [cells], commit: "two-phase" }) };
    },
  ],
  [
    "one store without atomic batches",
    async () => {
      const counting = memoryStore().atomic!;
      const oracle: Oracle = { next: (options) => counting.next(options), latest: () => counting.counter() };
      const store = memoryStore({ atomicBatches: false });
      return { openHere: (observers) => openAlone(store, { observers, tables: [cells], oracle }) };
    },
  ],
];

describe.each(places)("several processes of %s", (_, place) => {
  async function withProcesses(use: (openHere: Open) => Promise<void>): Promise<void> {
    const { openHere, remove } = await place();
    const opened: Database[] = [];
    try {
      await use(async (observers) => {
        const db = await openHere(observers);
        opened.push(db);
        return db;
      });
    } finally {
      for (const db of opened.reverse()) await db.close();
      await remove?.();
    }
  }

  test("an observer that is unregistered, or registered later, holds nothing up, and a new version does", async () => {
    await withProcesses(async (openHere) => {
      const later = copy("later", cells.a, cells.c);
      const old = observer("versioned", cells.a, (tx, { row, value }) => tx.set(cells.d, row, value!));
      const latest = observer(
        "versioned",
        cells.a,
        (tx, { row, value }) => tx.set(cells.d, row, value! * 10),
        {
          version: 2,
        },
      );
      const one = await openHere([copy("gone", cells.a, cells.b), old]);
      await one.settled(await commit(one, (tx) => tx.set(cells.other, "r", 1)));
      const each = await commit(one, (tx) => tx.set(cells.a, "r", 1));
      const waiting = one.settled(each);
      await one.unregister("gone");
      const other = await openHere([later, latest]);
      await using __ = other.work();
      // The run of the new version handles the change. The new observer has missed it.
      await waiting;
      await one.settled(each);
      expect(await read(one, cells.d, "r")).toBe(10);
      expect(await read(one, cells.c, "r")).toBeUndefined();
      // A backfill is no consequence of the commit.
      await other.backfill("later");
      await one.settled(each);
      await one.settled(await commit(one, (tx) => tx.set(cells.a, "r", 2)));
      expect(await read(one, cells.c, "r")).toBe(2);
      expect(await read(one, cells.d, "r")).toBe(20);
      expect(await read(one, cells.b, "r")).toBeUndefined();
    });
  });

  test("waits for a commit of another process from before the first call, as far as it is due", async () => {
    await withProcesses(async (openHere) => {
      const hanging = stuck("hanging", cells.other);
      const writer = await openHere([...chain, hanging.observer]);
      const worker = await openHere([...chain, hanging.observer]);
      const web = await openHere([]);
      // It is stuck, but older than the commit.
      await commit(writer, (tx) => tx.set(cells.other, "r", 1));
      const each = await commit(writer, (tx) => tx.set(cells.a, "r", 1));
      const waiting = web.settled(each);
      await using __ = worker.work();
      await waiting;
      expect(await read(web, cells.d, "r")).toBe(1);
      await writer.settled(await commit(web, (tx) => tx.set(cells.a, "r", 2)));
      expect(await read(web, cells.d, "r")).toBe(2);
      hanging.letGo();
    });
  });

  test("follows runs of another process from before the first call", async () => {
    await withProcesses(async (openHere) => {
      const hanging = stuck("b-to-c", cells.b);
      const observers = [chain[0]!, hanging.observer];
      const writer = await openHere(observers);
      const worker = await openHere(observers);
      const each = await commit(writer, (tx) => tx.set(cells.a, "r", 1));
      await using __ = worker.work();
      while ((await read(writer, cells.b, "r")) === undefined) await pause(5);
      // The first run is done, and only its process knows what it has changed.
      for (const db of [writer, worker]) {
        const late = await failureOf(db.settled(each, { timeoutMs: 3_000 }));
        expect(late.message).toContain('"b-to-c" on cells/r/b');
      }
      hanging.letGo();
      await Promise.all([writer.settled(each), worker.settled(each)]);
    });
  });

  test("tells what was parked before the first call", async () => {
    await withProcesses(async (openHere) => {
      const failing = observer(
        "failing",
        cells.b,
        () => {
          throw new Error("no");
        },
        { attempts: 1 },
      );
      const observers = [chain[0]!, failing];
      const writer = await openHere(observers);
      const worker = await openHere(observers);
      await commit(writer, (tx) => tx.set(cells.a, "before", 1));
      await using __ = worker.work();
      while ((await listed(writer.parked())).length < 1) await pause(5);
      const each = await commit(writer, (tx) => tx.set(cells.a, "r", 1));
      while ((await listed(writer.parked())).length < 2) await pause(5);
      // The writer has to guess what the runs of the worker have changed. The worker knows.
      for (const db of [writer, worker]) {
        expect((await parkedOf(db.settled(each))).parked.map(({ row }) => row)).toEqual(["r"]);
      }
      const last = await commit(writer, (tx) => tx.set(cells.c, "r", 1));
      await writer.settled(last);
    });
  });

  test("closing ends the wait", async () => {
    await withProcesses(async (openHere) => {
      const one = await openHere(chain);
      const waiting = failureOf(one.settled(await commit(one, (tx) => tx.set(cells.a, "r", 1))));
      await one.close();
      expect((await waiting).code).toBe("CLOSED");
      expect((await failureOf(one.settled(1))).code).toBe("CLOSED");
    });
  });
});

describe("bad input", () => {
  test("a timestamp that is none, an unknown observer, a bad timeout and an unknown option are refused", async () => {
    await using db = await open("memory:", { observers: chain });
    for (const bad of [-1, 0.5, Number.NaN, "1" as never, Number.MAX_SAFE_INTEGER]) {
      expect((await failureOf(db.settled(bad))).code).toBe("INVALID_ARGUMENT");
    }
    expect((await failureOf(db.settled(1, { observers: ["nobody"] }))).message).toContain("nobody");
    expect((await failureOf(db.settled(1, { timeoutMs: 0 }))).code).toBe("INVALID_ARGUMENT");
    expect((await failureOf(db.settled(1, { until: 1 } as never))).code).toBe("INVALID_ARGUMENT");
  });

  test("a read-only database is refused", async () => {
    const folder = await temporaryFolder();
    try {
      await (await open(folder.path, { tables: [cells] })).close();
      await using db = await open(folder.path, { readOnly: true });
      expect((await failureOf(db.settled(1))).message).toContain("readOnly");
    } finally {
      await folder.remove();
    }
  });

  test("a commit that causes too much is refused", async () => {
    await using db = await open("memory:", { observers: chain, transactionBytes: 1e9 });
    const each = await commit(db, (tx) => {
      for (let row = 0; row <= 100_000; row++) tx.set(cells.a, `${row}`, row);
    });
    const error = await failureOf(db.settled(each));
    expect(error.code).toBe("LIMIT_EXCEEDED");
  });
});

test("a change for which its observer has no hint is not waited for, since no run will handle it", async () => {
  const store = memoryStore();
  await using db = await open(store, { observers: chain });
  await db.settled(await commit(db, (tx) => tx.set(cells.other, "r", 1)));
  const each = await commit(db, (tx) => tx.set(cells.a, "r", 1));
  const waiting = db.settled(each);
  // As if its writer had not known the observer yet.
  const columns = [{ start: new Uint8Array(0), end: undefined }];
  const { rows } = await store.readRange({ table: "~hints", columns, at: Number.POSITIVE_INFINITY });
  for (const { row, cells: hints } of rows) {
    const mutations = hints.map(
      ({ column }) => ({ type: "delete", column, part: "write", from: 0, to: Infinity }) as const,
    );
    await store.mutate({ table: "~hints", row, guards: [], mutations });
  }
  await waiting;
  expect(await read(db, cells.b, "r")).toBeUndefined();
});
