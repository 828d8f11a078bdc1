import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AbortedError,
  ClosedError,
  ConflictError,
  type Database,
  family,
  InvalidArgumentError,
  InvalidKeyError,
  InvalidValueError,
  int,
  json,
  LimitExceededError,
  open,
  PercolatorError,
  SchemaError,
  StaleSnapshotError,
  signal,
  TimeoutError,
  table,
  text,
  tuple,
} from "percolatordb";
import { openWithHooks, StepHooks } from "percolatordb/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { commitPaths, temporaryFolder, withDatabase } from "../support/databases.js";

const pages = table("pages", {
  title: text(),
  hits: int(),
  anchors: family(text()),
  meta: json(z.object({ tags: z.array(z.string()) })),
  changed: signal(),
});
const events = table("events", { note: text() }, { key: tuple(text(), int()) });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function title(db: Database, row: string, at?: number | Date): Promise<string | undefined> {
  await using snapshot = await db.snapshot({ at });
  return await snapshot.get(pages.title, row);
}

describe.each(commitPaths)("$store, commit $commit", (variant) => {
  const within = (use: (db: Database) => Promise<void>) => withDatabase(variant, {}, use);

  test("reads and scans forwards, backwards, by prefix, by bounds and with a limit", () =>
    within(async (db) => {
      const rows = ["", "a", "ab", "b", "b\0", "ba", "é", "𝄞"];
      await db.transact((tx) => {
        for (const row of rows) tx.set(pages.title, row, `title ${row}`);
      });
      await using snapshot = await db.snapshot();
      const names = async (options: Parameters<typeof snapshot.scan<typeof pages.title>>[1]) =>
        (await all(snapshot.scan(pages.title, options))).map((item) => item.row);
      expect(await names({})).toEqual(rows);
      expect(await names({ reverse: true })).toEqual([...rows].reverse());
      expect(await names({ prefix: "a" })).toEqual(["a", "ab"]);
      expect(await names({ start: "ab", end: "ba" })).toEqual(["ab", "b", "b\0"]);
      expect(await names({ start: "ab", end: "ba", reverse: true })).toEqual(["b\0", "b", "ab"]);
      expect(await names({ limit: 2 })).toEqual(["", "a"]);
      expect(await names({ reverse: true, limit: 2 })).toEqual(["𝄞", "é"]);
      expect(await names({ start: "x", end: "b" })).toEqual([]);
      expect(await names({ limit: 0 })).toEqual([]);
    }));

  test("many rows over many pages are returned completely and in order, in both directions", () =>
    within(async (db) => {
      const count = 3_000;
      const name = (index: number) => `row${String(index).padStart(5, "0")}`;
      await db.transact((tx) => {
        for (let index = 0; index < count; index++) tx.set(pages.hits, name(index), index);
      });
      await using tx = await db.begin();
      tx.delete(pages.hits, name(1_500));
      tx.set(pages.hits, `${name(2_000)}+`, -1);
      const expected = Array.from({ length: count }, (_, index) => name(index)).filter(
        (row) => row !== name(1_500),
      );
      expected.splice(expected.indexOf(name(2_000)) + 1, 0, `${name(2_000)}+`);
      expect((await all(tx.scan(pages.hits))).map((item) => item.row)).toEqual(expected);
      const reversed = (await all(tx.scan(pages.hits, { reverse: true }))).map((item) => item.row);
      expect(reversed).toEqual([...expected].reverse());
    }));

  test("rows have their columns and families, and entries are ordered by qualifier", () =>
    within(async (db) => {
      await db.transact((tx) => {
        tx.set(pages.title, "a", "A");
        tx.set(pages.meta, "a", { tags: ["x"] });
        for (let index = 0; index < 2_500; index++) tx.set(pages.anchors.at(`s${index}`), "a", `t${index}`);
        tx.set(pages.hits, "b", 1);
      });
      await using tx = await db.begin();
      tx.delete(pages.anchors.at("s7"), "a");
      tx.set(pages.anchors.at("s70+"), "a", "new");
      const row = await tx.row(pages, "a");
      expect(row?.title).toBe("A");
      expect(row?.meta).toEqual({ tags: ["x"] });
      expect(row?.anchors.size).toBe(2_500);
      expect(await tx.row(pages, "nobody")).toBeUndefined();
      const some = await all(tx.entries(pages.anchors, "a", { prefix: "s7", limit: 3 }));
      expect(some.map((entry) => entry.qualifier)).toEqual(["s70", "s70+", "s700"]);
      const rows = await all(tx.scan(pages));
      expect(rows.map((item) => [item.row, item.value.anchors.size])).toEqual([
        ["a", 2_500],
        ["b", 0],
      ]);
      const families = await all(tx.scan(pages.anchors));
      expect(families.length).toBe(1);
      expect(families[0]!.value.get("s70+")).toBe("new");
    }));

  test("composite keys sort by their parts", () =>
    within(async (db) => {
      const keys = [
        ["a", -5],
        ["a", 0],
        ["a", 12],
        ["ab", 1],
        ["b", -1],
      ] as const;
      await db.transact((tx) => {
        for (const key of [...keys].reverse()) tx.set(events.note, key, key.join());
      });
      await using snapshot = await db.snapshot();
      expect((await all(snapshot.scan(events.note))).map((item) => item.row)).toEqual(keys);
      const some = await all(snapshot.scan(events.note, { prefix: ["a"] }));
      expect(some.map((item) => item.value)).toEqual(["a,-5", "a,0", "a,12"]);
      // Leading parts as a bound: of the keys that begin with them, all are behind it.
      const bounded = await all(snapshot.scan(events.note, { start: ["ab"], end: ["b"] }));
      expect(bounded.map((item) => item.value)).toEqual(["ab,1"]);
      const back = await all(snapshot.scan(events.note, { end: ["ab"], reverse: true }));
      expect(back.map((item) => item.value)).toEqual(["a,12", "a,0", "a,-5"]);
      const wrong = () => snapshot.scan(events.note, { start: ["ab", 1, 2] as never });
      expect(wrong).toThrow('row start ["ab", 1, 2]: a prefix of this key is an array of its leading parts');
    }));

  test("a serializable transaction that read the first entries of a family conflicts on those, and on no others", () =>
    within(async (db) => {
      await db.transact((tx) => {
        for (let index = 100; index < 400; index++) tx.set(pages.anchors.at(`s${index}`), "a", "x");
      });
      const readFirst = async (meanwhile: string) => {
        const tx = await db.begin({ isolation: "serializable" });
        expect((await all(tx.entries(pages.anchors, "a", { limit: 10 }))).length).toBe(10);
        await db.transact((other) => other.set(pages.anchors.at(meanwhile), "a", "new"));
        tx.set(pages.hits, "b", 1);
        return tx.commit();
      };
      await expect(readFirst("s399")).resolves.toBeUndefined();
      await expect(readFirst("s105")).rejects.toBeInstanceOf(ConflictError);
      await expect(readFirst("s1050")).rejects.toBeInstanceOf(ConflictError);
    }));

  test("deleteRow deletes the row as the transaction sees it, and no other row", () =>
    within(async (db) => {
      await db.transact((tx) => {
        for (const row of ["a", "ab"]) {
          tx.set(pages.title, row, row);
          tx.set(pages.anchors.at("x"), row, row);
        }
      });
      await db.transact(async (tx) => {
        tx.set(pages.hits, "a", 1);
        await tx.deleteRow(pages, "a");
      });
      await using snapshot = await db.snapshot();
      expect((await all(snapshot.scan(pages))).map((item) => item.row)).toEqual(["ab"]);
    }));

  test("time travel by timestamp and by Date; history with every version", () =>
    within(async (db) => {
      const timestamps: number[] = [];
      for (const value of ["one", "two", "three"]) {
        const tx = await db.begin();
        tx.set(pages.title, "a", value);
        await tx.commit();
        timestamps.push(tx.commitTimestamp!);
      }
      await db.transact((tx) => tx.delete(pages.title, "a"));
      for (const [index, value] of ["one", "two", "three"].entries()) {
        expect(await title(db, "a", timestamps[index])).toBe(value);
      }
      expect(await title(db, "a", timestamps[0]! - 1)).toBeUndefined();
      expect(await title(db, "a")).toBeUndefined();
      expect(await title(db, "a", new Date(1_000))).toBeUndefined();
      const versions = await db.history(pages.title, "a");
      expect(versions.map((version) => version.value)).toEqual([undefined, "three", "two", "one"]);
      expect(versions.map((version) => version.kind)).toEqual(["delete", "put", "put", "put"]);
      expect(versions.at(-1)!.commitTimestamp).toBe(timestamps[0]);
      for (const limit of [1, 2, 4, 9]) {
        expect(await db.history(pages.title, "a", { limit })).toEqual(versions.slice(0, limit));
      }
      expect(Math.abs(versions[0]!.time.getTime() - versions[0]!.commitTimestamp / 1_000)).toBeLessThan(1);
    }));

  test("a snapshot of the future is refused", () =>
    within(async (db) => {
      await expect(db.snapshot({ at: new Date(8e15) })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(db.snapshot({ at: Number.MAX_SAFE_INTEGER })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(db.snapshot({ at: Number.NaN })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(db.snapshot({ at: new Date(Number.NaN) })).rejects.toBeInstanceOf(InvalidArgumentError);
    }));

  test("a snapshot at milliseconds is refused, because it would lie in 1970", () =>
    within(async (db) => {
      await db.transact((tx) => tx.set(pages.title, "a", "one"));
      const at = db.snapshot({ at: Date.now() });
      await expect(at).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(at).rejects.toThrow(/`at` is .* looks like milliseconds.*Multiply it by 1,000/);
      for (const old of [0, 1, new Date(Date.now() / 1_000)]) await (await db.snapshot({ at: old })).close();
    }));

  test("garbage collection keeps what open snapshots see, and older snapshots are refused", () =>
    within(async (db) => {
      await db.transact((tx) => tx.set(pages.title, "a", "one"));
      const old = await db.snapshot();
      await db.transact((tx) => tx.set(pages.title, "a", "two"));
      await db.collect({ retentionMs: 0 });
      expect(await old.get(pages.title, "a")).toBe("one");
      await old.close();
      await db.transact((tx) => tx.set(pages.title, "b", "x"));
      const report = await db.collect({ retentionMs: 0 });
      expect(report.versionsDropped).toBeGreaterThan(0);
      await expect(db.snapshot({ at: old.timestamp })).rejects.toBeInstanceOf(StaleSnapshotError);
      expect(await title(db, "a")).toBe("two");
      expect((await db.history(pages.title, "a")).length).toBe(1);
      await db.transact((tx) => tx.delete(pages.title, "a"));
      await db.transact((tx) => tx.delete(pages.title, "b"));
      await db.collect({ retentionMs: 0 });
      expect(await db.history(pages.title, "a")).toEqual([]);
      expect(await db.check()).toEqual([]);
    }));

  test("transact runs the function again on conflict, with a new start timestamp", () =>
    within(async (db) => {
      await Promise.all(
        Array.from({ length: 50 }, () =>
          db.transact(async (tx) => tx.set(pages.hits, "a", ((await tx.get(pages.hits, "a")) ?? 0) + 1)),
        ),
      );
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(pages.hits, "a")).toBe(50);
      expect(db.metrics.commits).toBeGreaterThanOrEqual(50);
    }));

  test("retries are limited, and the conflict names the cell and the winner", () =>
    within(async (db) => {
      let runs = 0;
      const losing = db.transact(
        async (tx) => {
          runs++;
          await tx.get(pages.hits, "a");
          await db.transact((other) => other.set(pages.hits, "a", runs));
          tx.set(pages.hits, "a", -1);
        },
        { retries: 2, label: "loser" },
      );
      await expect(losing).rejects.toMatchObject({
        code: "CONFLICT",
        table: "pages",
        row: "a",
        column: "hits",
        message: expect.stringContaining('"loser"'),
      });
      expect(runs).toBe(3);
    }));

  test("an error of the function is thrown to the caller, and nothing is written", () =>
    within(async (db) => {
      const failing = db.transact((tx) => {
        tx.set(pages.title, "a", "x");
        throw new RangeError("mine");
      });
      await expect(failing).rejects.toThrow(RangeError);
      expect(await title(db, "a")).toBeUndefined();
    }));

  test("a deadline ends a transaction, and blocks later calls of its function", () =>
    within(async (db) => {
      let late: unknown;
      let finish = () => {};
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      let isOver = () => {};
      const over = new Promise<void>((resolve) => {
        isOver = resolve;
      });
      const timed = db.transact(
        async (tx) => {
          await over;
          try {
            tx.set(pages.title, "a", "late");
          } catch (error) {
            late = error;
          }
          finish();
        },
        { timeoutMs: 400 },
      );
      await expect(timed).rejects.toBeInstanceOf(TimeoutError);
      isOver();
      await finished;
      expect(late).toBeInstanceOf(TimeoutError);
      expect(await title(db, "a")).toBeUndefined();
    }));

  test("an aborted signal ends a transaction", () =>
    within(async (db) => {
      const controller = new AbortController();
      const aborted = db.transact(() => new Promise(() => {}), { signal: controller.signal });
      controller.abort(new Error("enough"));
      await expect(aborted).rejects.toBeInstanceOf(AbortedError);
      const before = db.transact(() => {}, { signal: controller.signal });
      await expect(before).rejects.toBeInstanceOf(AbortedError);
      await using snapshot = await db.snapshot({ signal: controller.signal });
      const read = snapshot.get(pages.title, "a");
      await expect(read).rejects.toThrow("A request to read was aborted by its signal");
    }));

  test("a signal of AbortSignal.timeout ends a transaction with a TimeoutError", () =>
    within(async (db) => {
      const timed = db.transact(() => new Promise(() => {}), { signal: AbortSignal.timeout(10) });
      await expect(timed).rejects.toMatchObject({ code: "TIMEOUT", cause: { name: "TimeoutError" } });
      await expect(timed).rejects.toBeInstanceOf(TimeoutError);
    }));

  test("a transaction is over when its signal is aborted, even if nothing calls it any more", () =>
    within(async (db) => {
      const ending = new AbortController();
      const forgotten = await db.begin({ signal: ending.signal });
      await db.transact((tx) => tx.set(pages.title, "a", "later"));
      expect((await db.collect({ retentionMs: 0 })).safepoint).toBeLessThanOrEqual(forgotten.startTimestamp);
      ending.abort(new Error("enough"));
      expect((await db.collect({ retentionMs: 0 })).safepoint).toBeGreaterThan(forgotten.startTimestamp);
      await expect(forgotten.get(pages.title, "a")).rejects.toBeInstanceOf(AbortedError);
      await forgotten.rollback();
    }));

  test("onCommit is called once, after the commit, and not after a rollback", () =>
    within(async (db) => {
      const called: number[] = [];
      const tx = await db.begin();
      tx.onCommit((timestamp) => called.push(timestamp));
      tx.set(pages.title, "a", "x");
      await tx.commit();
      expect(called).toEqual([tx.commitTimestamp]);
      const other = await db.begin();
      other.onCommit((timestamp) => called.push(timestamp));
      await other.rollback();
      expect(called.length).toBe(1);
    }));

  test("inspect shows the protocol's records, and current locks", () =>
    within(async (db) => {
      await db.transact((tx) => tx.set(pages.title, "a", "x"));
      const [column] = await db.inspect(pages, "a");
      expect(column?.column).toBe("title");
      expect(column?.writes.length).toBe(1);
      expect(await all(db.locks())).toEqual([]);
    }));

  test("inspect has the newest versions of a cell that has very many", () =>
    within(async (db) => {
      const cell = { table: "pages", row: Buffer.from("b") };
      await db.transact((tx) => tx.set(pages.title, "a", "x"));
      const [before] = await db.inspect(pages, "a");
      const write = (timestamp: number) =>
        ({ type: "put", column: before!.path, part: "txn", timestamp, value: Buffer.of(2) }) as const;
      for (let from = 1; from <= 1_100; from += 100) {
        const mutations = Array.from({ length: 100 }, (_, i) => write(from + i));
        await db.openedStore.mutate({ ...cell, guards: [], mutations });
      }
      const [column] = await db.inspect(pages, "b");
      const timestamps = column!.statuses.map(({ startTimestamp }) => startTimestamp);
      expect(timestamps).toEqual(Array.from({ length: 1_000 }, (_, i) => 1_100 - i));
    }));

  test("values of every size are read back", () =>
    within(async (db) => {
      const sizes = [0, 1, 63, 64, 65, 4_095, 4_096, 100_000, 9_999_999];
      for (const size of sizes) await db.transact((tx) => tx.set(pages.title, `s${size}`, "x".repeat(size)));
      await using snapshot = await db.snapshot();
      for (const size of sizes) expect((await snapshot.get(pages.title, `s${size}`))?.length).toBe(size);
      const tooLong = db.transact((tx) => tx.set(pages.title, "long", "x".repeat(10_000_001)));
      await expect(tooLong).rejects.toBeInstanceOf(InvalidValueError);
    }));
});

describe("invalid input", () => {
  const within = (use: (db: Database) => Promise<void>) =>
    withDatabase({ store: "memory", commit: "auto" }, {}, use);

  test("values and keys are refused by the call that receives them, with the place in the message", () =>
    within(async (db) => {
      const tx = await db.begin();
      expect(() => tx.set(pages.hits, "a", 1.5)).toThrow(/pages\.hits.*"a"/);
      expect(() => tx.set(pages.meta, "a", { tags: [1] } as never)).toThrow(InvalidValueError);
      expect(() => tx.set(pages.title, "\ud800", "x")).toThrow(InvalidKeyError);
      expect(() => tx.set(pages.title, "k".repeat(1_501), "x")).toThrow(/1500|1,500/);
      expect(() => tx.set(pages.anchors.at("q".repeat(800)), "k".repeat(800), "x")).toThrow(InvalidKeyError);
      expect(() => tx.set(pages.changed as never, "a", "x" as never)).toThrow(SchemaError);
      expect(() => tx.set(pages.anchors as never, "a", "x" as never)).toThrow(/\.at\(/);
      expect(() => tx.set({} as never, "a", "x" as never)).toThrow(SchemaError);
      expect(() => tx.notify(pages.title as never, "a")).toThrow(SchemaError);
      await expect(tx.get(pages.changed as never, "a")).rejects.toBeInstanceOf(SchemaError);
      await tx.rollback();
      expect((await all(db.locks())).length).toBe(0);
    }));

  test("a transaction that is over refuses calls", () =>
    within(async (db) => {
      const tx = await db.begin();
      tx.set(pages.title, "a", "x");
      await tx.commit();
      expect(() => tx.set(pages.title, "a", "y")).toThrow(ClosedError);
      await expect(tx.get(pages.title, "a")).rejects.toBeInstanceOf(ClosedError);
      await expect(tx.commit()).rejects.toBeInstanceOf(ClosedError);
      const snapshot = await db.snapshot();
      await snapshot.close();
      await expect(snapshot.get(pages.title, "a")).rejects.toBeInstanceOf(ClosedError);
    }));

  test("if a transaction's writes are too large, set throws, and smaller writes still work", async () => {
    await using db = await open("memory:", { transactionBytes: 10_000 });
    const tx = await db.begin();
    const fill = () => {
      for (let index = 0; index < 1_000; index++) tx.set(pages.title, `row${index}`, "x".repeat(100));
    };
    expect(fill).toThrow(LimitExceededError);
    await tx.rollback();
  });

  test("tables that contradict the recorded ones are refused, even at their first use, and nothing is written", () =>
    within(async (db) => {
      await db.transact((tx) => tx.set(pages.hits, "a", 1));
      const other = table("pages", { hits: text() });
      const writing = db.transact((tx) => tx.set(other.hits, "a", "x"));
      await expect(writing).rejects.toBeInstanceOf(SchemaError);
      const reading = db.transact((tx) => tx.get(other.hits, "a"));
      await expect(reading).rejects.toBeInstanceOf(SchemaError);
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(pages.hits, "a")).toBe(1);
    }));

  test("a closed database refuses calls", async () => {
    const db = await open("memory:");
    await db.close();
    await db.close();
    await expect(db.transact(() => {})).rejects.toBeInstanceOf(ClosedError);
    await expect(db.snapshot()).rejects.toBeInstanceOf(ClosedError);
    expect(() => db.work()).toThrow(ClosedError);
  });

  test.each([
    ["", {}],
    ["bigtable://project/instance", {}],
    ["memory:", { commit: "three-phase" }],
    ["memory:", { durability: "some" }],
    ["memory:", { retentionMs: -1 }],
    ["memory:", { lockTtlMs: Number.NaN }],
    ["memory:", { lockTtlMs: 2 ** 32 }],
  ])("open(%j, %j) is refused", async (location, options) => {
    vi.stubEnv("BIGTABLE_EMULATOR_HOST", "");
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(tmpdir(), "no-key-of-a-service-account.json"));
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(open(location, options as never)).rejects.toBeInstanceOf(PercolatorError);
  });

  test("options of transactions are checked", () =>
    within(async (db) => {
      await expect(db.transact(() => {}, { retries: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(db.transact(() => {}, { timeoutMs: 0 })).rejects.toBeInstanceOf(InvalidArgumentError);
      await using snapshot = await db.snapshot();
      expect(() => snapshot.scan(pages.title, { limit: -1 })).toThrow(InvalidArgumentError);
    }));
});

describe("a folder", () => {
  test("keeps committed data after it is closed and opened again", async () => {
    const folder = await temporaryFolder();
    try {
      for (const commit of ["auto", "two-phase"] as const) {
        await using db = await open(folder.path, { commit });
        await db.transact((tx) => tx.set(pages.title, commit, "kept"));
      }
      await using db = await open(`file:${folder.path}`);
      expect(await title(db, "auto")).toBe("kept");
      expect(await title(db, "two-phase")).toBe("kept");
      expect(await db.check()).toEqual([]);
    } finally {
      await folder.remove();
    }
  });

  test("one-phase and two-phase transactions on one folder respect each other", async () => {
    const folder = await temporaryFolder();
    try {
      await using one = await open(folder.path);
      await using two = await open(folder.path, { commit: "two-phase" });
      await one.transact((tx) => tx.set(pages.hits, "a", 0));
      const add = (db: Database) =>
        db.transact(async (tx) => tx.set(pages.hits, "a", (await tx.get(pages.hits, "a"))! + 1), {
          retries: 10_000,
        });
      await Promise.all(Array.from({ length: 60 }, (_, index) => add(index % 2 === 0 ? one : two)));
      await using snapshot = await one.snapshot();
      expect(await snapshot.get(pages.hits, "a")).toBe(60);
      expect(await one.check()).toEqual([]);
    } finally {
      await folder.remove();
    }
  });

  test("a transaction whose lock no reader has pushed commits directly above its start timestamp", async () => {
    const hooks = new StepHooks();
    await using db = await openWithHooks("memory:", { hooks, commit: "two-phase" });
    const pause = hooks.pauseBefore("commit-primary");
    const committing = db.transact((tx) => tx.set(pages.title, "a", "x"));
    await pause.reached;
    const [lock] = await all(db.locks());
    expect(lock?.minCommitTimestamp).toBe(lock!.startTimestamp + 1);
    pause.resume();
    await committing;
  });

  test("conflict errors have this package's classes and say what to do", async () => {
    await using db = await open("memory:");
    const [one, two] = [await db.begin(), await db.begin()];
    for (const tx of [one, two]) tx.set(pages.hits, "a", 1);
    await one.commit();
    const error = await two.commit().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConflictError);
    expect((error as ConflictError).retryable).toBe(true);
    expect((error as ConflictError).winnerTimestamp).toBe(one.commitTimestamp);
  });

  test.each(["auto", "two-phase"] as const)("and show a composite key as JSON, commit %s", async (commit) => {
    await using db = await open("memory:", { commit });
    const [one, two] = [await db.begin(), await db.begin()];
    for (const tx of [one, two]) tx.set(events.note, ["a", 1], "x");
    await one.commit();
    const error = (await two.commit().catch((thrown: unknown) => thrown)) as ConflictError;
    expect(error).toMatchObject({ code: "CONFLICT", table: "events", row: '["a",1]', column: "note" });
    expect(error.message).toContain('events/["a",1]/note');
  });
});

describe("the retention", () => {
  test("is recorded for processes that open without the option", async () => {
    const folder = await temporaryFolder();
    try {
      const retention = async (retentionMs?: number) => {
        await using db = await open(folder.path, { retentionMs });
        return (await db.status()).retentionMs;
      };
      expect(await retention()).toBe(3_600_000);
      expect(await retention(86_400_000)).toBe(86_400_000);
      expect(await retention()).toBe(86_400_000);
      expect(await retention(0)).toBe(0);
      expect(await retention()).toBe(0);
    } finally {
      await folder.remove();
    }
  });

  test("is not recorded if opening is refused", async () => {
    const folder = await temporaryFolder();
    try {
      await open(folder.path, { tables: [pages] }).then((db) => db.close());
      const other = table("pages", { title: int() });
      await expect(open(folder.path, { tables: [other], retentionMs: 0 })).rejects.toBeInstanceOf(
        SchemaError,
      );
      await using db = await open(folder.path);
      expect((await db.status()).retentionMs).toBe(3_600_000);
    } finally {
      await folder.remove();
    }
  });
});
