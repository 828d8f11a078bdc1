import { beforeEach, describe, expect, test, vi } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import { ConflictError, StaleSnapshotError, StoreError } from "../../errors/index.js";
import { int, table, text } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { answerLost, requestLost, StepHooks, stopsAfter, stopsBefore } from "../../testing/index.js";
import type { TransactionContext } from "../context.js";
import { CoreTransaction } from "../core.js";
import { check } from "../maintenance/check.js";
import { collect } from "../maintenance/collect.js";
import { listLocks } from "../maintenance/inspect.js";
import { Snapshot } from "../read/snapshot.js";
import type { StepName } from "../steps.js";
import { transact } from "../transact.js";
import { Transaction } from "../transaction.js";

const accounts = table("accounts", { balance: int(), note: text() });
const long = "a value that is too long to stand in a write record, and so goes into a data cell of its own";

let hooks: StepHooks;
let context: TransactionContext;

beforeEach(() => {
  hooks = new StepHooks();
  context = bareContext(memoryStore(), { commit: "two-phase", lockTtlMs: 60 }, hooks);
});

async function begin(isolation: "snapshot" | "serializable" = "snapshot"): Promise<Transaction> {
  return new Transaction(await CoreTransaction.begin(context, { isolation }));
}

async function read(row: string, at?: number): Promise<number | undefined> {
  await using snapshot = new Snapshot(context, at ?? (await context.oracle.next()));
  return await snapshot.get(accounts.balance, row);
}

async function set(values: Record<string, number>): Promise<void> {
  await transact(context, (tx) => {
    for (const [row, value] of Object.entries(values)) tx.set(accounts.balance, row, value);
  });
}

/** Writes alice and bob in one transaction. Its promise may never settle. */
function write(alice: number, bob: number): Promise<void> {
  return (async () => {
    const tx = await begin();
    tx.set(accounts.balance, "alice", alice);
    tx.set(accounts.balance, "bob", bob);
    await tx.commit();
  })();
}

async function locks(): Promise<number> {
  let count = 0;
  for await (const _ of listLocks(context, ["accounts"])) count++;
  return count;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

async function settled(): Promise<void> {
  await context.background.settled();
  expect(await check(context, ["accounts"])).toEqual([]);
}

describe("a commit", () => {
  test("takes its steps in order, and leaves no lock", async () => {
    await set({ alice: 1, bob: 2 });
    await settled();
    const names = hooks.seen.map((step) => step.name);
    expect(names).toEqual<StepName[]>([
      "prewrite",
      "prewrite",
      "commit-timestamp",
      "commit-primary",
      "commit-secondary",
    ]);
    expect(await locks()).toBe(0);
    expect([await read("alice"), await read("bob")]).toEqual([1, 2]);
  });

  test("keeps long values in data cells, and reads them back", async () => {
    await transact(context, (tx) => tx.set(accounts.note, "alice", long));
    await using snapshot = new Snapshot(context, await context.oracle.next());
    expect(await snapshot.get(accounts.note, "alice")).toBe(long);
  });

  test("divides a row with more cells than a mutation can contain into chunks, all or nothing", async () => {
    context = bareContext(memoryStore({ mutationCells: 10 }), { commit: "two-phase", lockTtlMs: 60 }, hooks);
    const wide = table("accounts", Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, int()])));
    await transact(context, (tx) => {
      for (let i = 0; i < 9; i++) tx.set(wide[`c${i}`]!, "row", i);
    });
    await settled();
    expect(hooks.count("prewrite")).toBeGreaterThan(1);
    await using snapshot = new Snapshot(context, await context.oracle.next());
    expect(await snapshot.row(wide, "row")).toEqual({
      ...Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, i])),
    });
  });

  test("conflicts with one that committed after its start, and writes nothing", async () => {
    await set({ alice: 1, bob: 1 });
    const tx = await begin();
    await set({ alice: 2 });
    tx.set(accounts.balance, "bob", 7);
    tx.set(accounts.balance, "alice", 7);
    await expect(tx.commit()).rejects.toBeInstanceOf(ConflictError);
    await settled();
    expect(await locks()).toBe(0);
    expect([await read("alice"), await read("bob")]).toEqual([2, 1]);
  });

  test("names the cell and the winner of a conflict", async () => {
    await set({ alice: 1 });
    const tx = await begin();
    await set({ alice: 2 });
    tx.set(accounts.balance, "alice", 7);
    await expect(tx.commit()).rejects.toMatchObject({ table: "accounts", row: "alice", column: "balance" });
    await expect(tx.commit()).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("a lost answer", () => {
  const steps: readonly StepName[] = ["prewrite", "commit-primary", "commit-secondary"];

  test.each(steps)("at %s, the request applied: the transaction commits once", async (step) => {
    hooks.once(step, answerLost);
    await write(1, 2);
    await settled();
    expect([await read("alice"), await read("bob")]).toEqual([1, 2]);
  });

  test.each(["prewrite", "commit-secondary"] as const)(
    "at %s, the request lost: it commits",
    async (step) => {
      hooks.once(step, requestLost);
      await write(1, 2);
      await context.background.settled();
      expect([await read("alice"), await read("bob")]).toEqual([1, 2]);
      await settled();
    },
  );

  test("at prewrite, the request lost for long: the final lock is not an old one", async () => {
    const { lockTtlMs } = context.settings;
    let now = 1_700_000_000_000;
    context = { ...context, environment: { ...context.environment, now: () => now } };
    hooks.once("prewrite", async () => {
      now += 2 * lockTtlMs;
      return "unknown";
    });
    const ages: number[] = [];
    hooks.once("commit-timestamp", async (run) => {
      for await (const { refreshedAt } of listLocks(context, ["accounts"]))
        ages.push(now - refreshedAt.getTime());
      return run();
    });
    await set({ alice: 1 });
    expect(ages).toEqual([0]);
  });

  test("at the primary's commit, the request lost: rolled back, and reported as such", async () => {
    hooks.once("commit-primary", requestLost);
    await expect(write(1, 2)).rejects.toMatchObject({ code: "STORE", retryable: true });
    await settled();
    expect([await read("alice"), await read("bob")]).toEqual([undefined, undefined]);
    expect(await locks()).toBe(0);
  });

  test("at the primary's commit, and the safepoint cannot be read either: the outcome is unknown", async () => {
    const failure = new StoreError("The store is away.");
    hooks.once("commit-primary", async () => {
      vi.spyOn(context.safepoint, "current").mockRejectedValue(failure);
      return "unknown";
    });
    await expect(write(1, 2)).rejects.toMatchObject({ code: "COMMIT_OUTCOME_UNKNOWN", cause: failure });
  });

  test("a commit that arrives after it was decided is refused by the tombstone", async () => {
    let late: (() => Promise<unknown>) | undefined;
    hooks.once("commit-primary", async (run) => {
      late = run;
      return "unknown";
    });
    await expect(write(1, 2)).rejects.toMatchObject({ code: "STORE", retryable: true });
    expect(await late?.()).toBe("rejected");
    expect(await read("alice")).toBeUndefined();
  });

  test("a prewrite that arrives after its transaction was rolled back cannot commit it", async () => {
    let late: (() => Promise<unknown>) | undefined;
    for (let repeat = 0; repeat < 5; repeat++) {
      hooks.once("prewrite", async (run, info) => {
        if (info.cell?.includes("alice")) late = run;
        return "unknown";
      });
    }
    const outcome = await write(1, 2).then(
      () => "committed",
      () => "failed",
    );
    await late?.();
    const alice = await read("alice");
    expect(alice).toBe(outcome === "committed" ? 1 : undefined);
    await settled();
  });
});

describe("a client that stops for good", () => {
  test.each(["prewrite", "commit-timestamp", "commit-primary"] as const)(
    "at %s: a reader rolls it back when its lock has expired",
    async (step) => {
      hooks.once(step, stopsBefore);
      hooks.once("refresh", stopsBefore);
      void write(1, 2);
      await until(() => hooks.count(step) > 0);
      expect(await read("alice")).toBeUndefined();
      expect(await read("bob")).toBeUndefined();
      await set({ alice: 5, bob: 6 });
      expect([await read("alice"), await read("bob")]).toEqual([5, 6]);
      await settled();
      expect(await locks()).toBe(0);
    },
  );

  test.each(["commit-primary", "commit-secondary"] as const)(
    "after %s: a reader rolls it forward",
    async (step) => {
      hooks.once(step, stopsAfter);
      if (step === "commit-primary") hooks.once("commit-secondary", stopsBefore);
      void write(1, 2);
      await until(() => hooks.count(step) > 0);
      expect([await read("alice"), await read("bob")]).toEqual([1, 2]);
      expect(await locks()).toBe(0);
      expect(await check(context, ["accounts"])).toEqual([]);
    },
  );

  test("before its primary was locked: a writer that meets the other lock fences the primary", async () => {
    hooks.once("prewrite", stopsBefore);
    hooks.once("refresh", stopsBefore);
    void write(1, 2);
    await until(() => hooks.count("prewrite") > 1);
    await transact(context, (tx) => tx.set(accounts.balance, "bob", 9));
    expect(await read("bob")).toBe(9);
    expect(await read("alice")).toBeUndefined();
    await settled();
  });
});

describe("a blind write that meets a lock", () => {
  const set9 = (retries: number) =>
    transact(context, (tx) => tx.set(accounts.balance, "bob", 9), { retries });

  test("of one that committed before its start: it writes over it, without another attempt", async () => {
    hooks.once("commit-secondary", stopsBefore);
    await write(1, 2);
    const prewrites = hooks.count("prewrite");
    await set9(0);
    expect(hooks.count("prewrite") - prewrites).toBe(2);
    expect(hooks.count("roll-forward")).toBe(1);
    expect([await read("alice"), await read("bob")]).toEqual([1, 9]);
  });

  test("the same with one-phase commit", async () => {
    hooks.once("commit-secondary", stopsBefore);
    await write(1, 2);
    context = { ...context, settings: { ...context.settings, commit: "one-phase" } };
    await set9(0);
    expect(hooks.count("one-phase-commit")).toBe(2);
    expect([await read("alice"), await read("bob")]).toEqual([1, 9]);
  });

  test.each(["two-phase", "one-phase"] as const)(
    "of one that left very many behind: it removes them all (%s)",
    async (commit) => {
      const rows = Array.from({ length: 150 }, (_, index) => `row${index}`);
      for (const _ of rows) hooks.once("commit-secondary", stopsBefore);
      await set(Object.fromEntries(["first", ...rows].map((row) => [row, 1])));
      expect(await locks()).toBe(150);
      context = { ...context, settings: { ...context.settings, commit } };
      await transact(
        context,
        (tx) => {
          for (const row of rows) tx.set(accounts.balance, row, 2);
        },
        { retries: 0 },
      );
      await until(() => hooks.count("roll-forward") >= 150);
      expect(await Promise.all(rows.map((row) => read(row)))).toEqual(rows.map(() => 2));
    },
  );

  test("of one that committed after its start: it conflicts, and names the commit", async () => {
    const late = await begin();
    hooks.once("commit-secondary", stopsBefore);
    const tx = await begin();
    tx.set(accounts.balance, "alice", 1);
    tx.set(accounts.balance, "bob", 2);
    await tx.commit();
    late.set(accounts.balance, "bob", 9);
    const prewrites = hooks.count("prewrite");
    await expect(late.commit()).rejects.toMatchObject({ row: "bob", winnerTimestamp: tx.commitTimestamp });
    expect(hooks.count("prewrite") - prewrites).toBe(1);
    expect(await read("bob")).toBe(2);
  });

  test("of a live one: it conflicts at once", async () => {
    context = { ...context, settings: { ...context.settings, lockTtlMs: 60_000 } };
    hooks.once("commit-primary", stopsBefore);
    void write(1, 2);
    await until(() => hooks.count("commit-primary") > 0);
    const prewrites = hooks.count("prewrite");
    await expect(set9(0)).rejects.toBeInstanceOf(ConflictError);
    expect(hooks.count("prewrite") - prewrites).toBe(1);
  });

  test("and is aborted meanwhile: it leaves no lock of its own", async () => {
    context = { ...context, settings: { ...context.settings, lockTtlMs: 60_000 } };
    hooks.once("commit-primary", stopsBefore);
    void transact(context, (tx) => tx.set(accounts.balance, "bob", 2));
    await until(() => hooks.count("commit-primary") > 0);
    const ending = new AbortController();
    const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
    tx.set(accounts.balance, "alice", 1);
    tx.set(accounts.balance, "bob", 3);
    hooks.once("prewrite", (run) => {
      ending.abort();
      return run();
    });
    await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
    const left: string[] = [];
    for await (const { cell } of listLocks(context, ["accounts"]))
      left.push(Buffer.from(cell.row).toString());
    expect(left).toEqual(["bob"]);
  });
});

describe("an aborted transaction", () => {
  test("before its commit is over: it does not hold garbage collection back", async () => {
    const ending = new AbortController();
    const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
    tx.set(accounts.balance, "alice", 1);
    ending.abort();
    await expect(tx.commit()).rejects.toMatchObject({ code: "ABORTED" });
    expect(context.active.oldest()).toBe(Number.POSITIVE_INFINITY);
    await expect(tx.commit()).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("while a reader waits for a lock: the reader gets a named error", async () => {
    context = { ...context, settings: { ...context.settings, lockTtlMs: 60_000 } };
    hooks.once("prewrite", stopsBefore);
    void write(1, 2);
    await until(() => hooks.count("prewrite") > 1);
    const ending = new AbortController();
    const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
    const waits: string[] = [];
    context.events.on("lockResolved", ({ outcome }) => {
      waits.push(outcome);
      if (outcome === "waited") ending.abort("enough");
    });
    await expect(tx.get(accounts.balance, "bob")).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
    expect(waits).toContain("waited");
  });

  test("while its commit waits for a free slot: nothing was written", async () => {
    const ending = new AbortController();
    vi.spyOn(context.background, "room").mockReturnValue(new Promise(() => {}));
    const tx = new Transaction(await CoreTransaction.begin(context, { signal: ending.signal }));
    tx.set(accounts.balance, "alice", 1);
    const committing = tx.commit();
    ending.abort();
    await expect(committing).rejects.toMatchObject({ code: "ABORTED" });
    expect(hooks.count("prewrite")).toBe(0);
  });
});

describe("a reader that meets a live lock", () => {
  test("pushes the transaction beyond its start, continues to read, and the transaction commits above it", async () => {
    await set({ alice: 1, bob: 1 });
    context = { ...context, settings: { ...context.settings, lockTtlMs: 60_000 } };
    let release = () => {};
    hooks.once("commit-primary", async (run) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return run();
    });
    const before = hooks.count("commit-primary");
    const writing = write(2, 2);
    await until(() => hooks.count("commit-primary") > before);
    const start = await context.oracle.next();
    expect([await read("alice", start), await read("bob", start)]).toEqual([1, 1]);
    release();
    await writing;
    await context.background.settled();
    expect([await read("alice", start), await read("bob", start)]).toEqual([1, 1]);
    expect([await read("alice"), await read("bob")]).toEqual([2, 2]);
    expect(hooks.count("push")).toBe(1);
    await settled();
  });

  test("a refresh keeps the timestamp that a reader pushed", async () => {
    context = { ...context, settings: { ...context.settings, lockTtlMs: 30 } };
    let release = () => {};
    hooks.once("commit-primary", async (run) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return run();
    });
    const writing = write(2, 2);
    await until(() => hooks.count("commit-primary") > 0);
    const start = await context.oracle.next();
    expect(await read("alice", start)).toBeUndefined();
    const refreshed = hooks.count("refresh");
    while (hooks.count("refresh") < refreshed + 2) await new Promise((resolve) => setTimeout(resolve, 1));
    release();
    await writing;
    expect(await read("alice", start)).toBeUndefined();
    expect(await read("alice")).toBe(2);
  });
});

describe("serializable", () => {
  async function skew(
    isolation: "snapshot" | "serializable",
  ): Promise<readonly PromiseSettledResult<void>[]> {
    await set({ alice: 1, bob: 1 });
    const [one, two] = [await begin(isolation), await begin(isolation)];
    for (const tx of [one, two]) await tx.getMany(accounts.balance, ["alice", "bob"]);
    one.set(accounts.balance, "alice", 0);
    two.set(accounts.balance, "bob", 0);
    return Promise.allSettled([one.commit(), two.commit()]);
  }

  test("write skew happens under snapshot", async () => {
    const outcomes = await skew("snapshot");
    expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "fulfilled"]);
  });

  test("write skew does not happen under serializable", async () => {
    const outcomes = await skew("serializable");
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled").length).toBeLessThan(2);
  });

  test.each([false, true])(
    "a phantom in a range that was read is a conflict (reverse: %s)",
    async (reverse) => {
      const tx = await begin("serializable");
      for await (const _ of tx.scan(accounts.balance, { prefix: "a", reverse })) expect.unreachable();
      await set({ anna: 1 });
      tx.set(accounts.balance, "zoe", 1);
      await expect(tx.commit()).rejects.toBeInstanceOf(ConflictError);
    },
  );

  test("of many rows that were read one by one, each is validated", async () => {
    const rows = Array.from({ length: 600 }, (_, i) => `r${String(i).padStart(3, "0")}`);
    for (const changed of ["r000", "r255", "r256", "r511", "r512", "r599"]) {
      const tx = await begin("serializable");
      await tx.getMany(accounts.balance, rows);
      await set({ [changed]: 1 });
      tx.set(accounts.balance, "zoe", 1);
      await expect(tx.commit(), changed).rejects.toBeInstanceOf(ConflictError);
    }
  });

  test("a scan that ended early does not conflict beyond its end", async () => {
    await set(
      Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`r${String(i).padStart(3, "0")}`, i])),
    );
    const tx = await begin("serializable");
    for await (const _ of tx.scan(accounts.balance)) break;
    await set({ r199: 5 });
    tx.set(accounts.balance, "zoe", 1);
    await expect(tx.commit()).resolves.toBeUndefined();
  });
});

describe("garbage collection", () => {
  test("removes what no snapshot can see, including data and statuses, and keeps the newest", async () => {
    for (let value = 1; value <= 5; value++) await set({ alice: value, bob: value });
    for (let round = 0; round < 3; round++) {
      await transact(context, (tx) => tx.set(accounts.note, "alice", long + round));
    }
    await context.background.settled();
    const old = await begin();
    const pinned = await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    expect(pinned.safepoint).toBeLessThanOrEqual(old.startTimestamp);
    await old.rollback();
    const report = await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    expect(pinned.versionsDropped + report.versionsDropped).toBeGreaterThan(15);
    expect(await read("alice")).toBe(5);
    await using snapshot = new Snapshot(context, await context.oracle.next());
    expect(await snapshot.get(accounts.note, "alice")).toBe(`${long}2`);
    await settled();
  });

  test("rolls back transactions below the safepoint, even if their owner is alive", async () => {
    context = { ...context, settings: { ...context.settings, lockTtlMs: 60_000 } };
    hooks.once("commit-primary", stopsBefore);
    void write(1, 2);
    await until(() => hooks.count("commit-primary") > 0);
    const before = context.active.oldest();
    expect(before).toBeLessThan(Number.POSITIVE_INFINITY);
    // Another process that does not know of the transaction.
    const other = { ...context, active: bareContext(context.store).active };
    await context.oracle.next();
    const report = await collect(other, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    expect(report.locksResolved).toBe(2);
    expect(await locks()).toBe(0);
  });

  test("a prewrite that arrives after the safepoint has passed its start is refused, and not put over a removed delete", async () => {
    await set({ alice: 1 });
    await context.background.settled();
    const late = await begin();
    expect(await late.get(accounts.balance, "alice")).toBe(1);
    await transact(context, (tx) => tx.delete(accounts.balance, "alice"));
    // This process does not know of the transaction. Its collection removes the delete marker,
    // although the marker is newer than the transaction's start.
    const other = { ...context, active: bareContext(context.store).active };
    await context.oracle.next();
    await collect(other, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    late.set(accounts.balance, "alice", 2);
    await expect(late.commit()).rejects.toBeInstanceOf(StaleSnapshotError);
    expect(await read("alice")).toBeUndefined();
  });

  test("a snapshot below the safepoint is refused, and never gives a wrong answer", async () => {
    await set({ alice: 1 });
    const at = await context.oracle.next();
    await set({ alice: 2 });
    await context.background.settled();
    await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
    await expect(read("alice", at)).rejects.toBeInstanceOf(StaleSnapshotError);
    await expect(read("nobody", at)).rejects.toBeInstanceOf(StaleSnapshotError);
  });
});
