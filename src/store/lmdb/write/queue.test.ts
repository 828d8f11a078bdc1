import { describe, expect, it } from "vitest";
import { collectGarbage } from "../../../../test/support/garbage.js";
import { systemEnvironment } from "../../../environment/index.js";
import { StoreError, StoreFullError, StoreMovedError } from "../../../errors/index.js";
import { commitTimestamp } from "../../index.js";
import type { ConditionalHandle, Databases } from "../record/databases.js";
import { type CellAddress, type RecordKey, writeKey } from "../record/key.js";
import { writeState } from "../record/state.js";
import { type Answer, Request } from "./draft/request.js";
import { WriteQueue } from "./queue.js";

/**
 * The result of a commit in the fake. The list is in the order of the type's members.
 *
 * - committed and flushed
 * - not committed
 * - committed, but not flushed
 * - not committed, and another process has committed since
 * - not committed, and reported only after the next commit
 * - committed, and LMDB's environment is broken
 * - not committed, and the environment is broken
 * - not begun, because the environment is broken
 * - not committed, because LMDB lost its free pages, and another process has committed since
 */
type Fate =
  | "committed"
  | "lost"
  | "unflushed"
  | "overtaken"
  | "lost, told late"
  | "panic"
  | "panic before"
  | "panic at once"
  | "no free pages, overtaken";

const systemErrorNumber = 28;

function bytesOf(key: RecordKey | CellAddress): string {
  const target = Buffer.alloc(4_096);
  return target.toString("latin1", 0, writeKey(key, target, 0));
}

const turn = () => new Promise<void>((resolve) => systemEnvironment.defer(resolve));
const panicked = () => Object.assign(new Error("MDB_PANIC"), { code: -30795 });

/** A fake of LMDB whose commits fail as the test says. */
class FakeLmdb {
  fates: Fate[] = [];
  /** The number of the put into `cells` that throws, counted from 1. */
  failingPut = 0;
  transactions = 0;
  threads = 0;
  /** How many of the next transactions must write nothing. */
  forbidden = 0;
  #puts = 0;
  #elsewhere = 0;
  /** Why a queued put failed. */
  #failedPut: unknown;
  /** Whether another process commits before each transaction, so that no draft is right. */
  readonly #isShared: boolean;
  // Every database has a format.
  #data = new Map<string, Buffer>([["metaformat", Buffer.from("1")]]);
  /** Whether a transaction is open. */
  #isOpen = false;
  /** The changes that are queued behind the transaction that was requested last. */
  #queued: (() => void)[] = [];

  readonly databases: Databases = {
    root: {
      transaction: (action, seen) => this.#transaction(action, seen),
      transactionSync: (action) => action(),
      mayWrite: () => --this.forbidden < 0,
      getWriteTxnId: () => this.transactions,
      thread: () => this.threads,
      resetReadTxn: () => undefined,
      useReadTransaction: () => ({ done: () => undefined }),
      readerCheck: () => 0,
      oldestReader: () => Number.POSITIVE_INFINITY,
      lastTransaction: () => this.transactions,
      env: { sync: () => undefined },
      close: async () => undefined,
    },
    cells: this.#handle("cells"),
    versions: this.#handle("versions"),
    protocol: this.#handle("protocol"),
    meta: this.#handle("meta"),
  };

  /** Another process commits a transaction. */
  writeElsewhere(): void {
    this.#isOpen = true;
    writeState(this.databases, { counter: 7, writer: 7, group: ++this.#elsewhere });
    this.#isOpen = false;
  }

  /** LMDB's write thread. After a failed put, LMDB does not commit the transaction. */
  #writeQueued(queued: readonly (() => void)[]): void {
    this.#failedPut = undefined;
    try {
      for (const make of queued) make();
    } catch (error) {
      this.#failedPut = error;
    }
  }

  constructor(isShared = false) {
    this.#isShared = isShared;
  }

  get size(): number {
    return [...this.#data.keys()].filter((key) => key.startsWith("cells")).length;
  }

  #handle<Entry>(name: string): ConditionalHandle<Entry> {
    const change = (make: () => void) => {
      if (this.#isOpen) make();
      else this.#queued.push(make);
    };
    return {
      getBinaryFast: (key) => this.#data.get(name + bytesOf(key)),
      getRange: () => [],
      put: (key, bytes) => {
        const id = name + bytesOf(key);
        // The binding puts only the part that a buffer names, if it names one.
        const { start, end } = bytes as { start?: number; end?: number };
        const value = Buffer.from(bytes.subarray(start, end));
        change(() => {
          if (name === "cells" && ++this.#puts === this.failingPut)
            throw Object.assign(new Error("map full"), { code: -30792 });
          this.#data.set(id, value);
        });
      },
      remove: (key) => {
        const id = name + bytesOf(key);
        change(() => this.#data.delete(id));
      },
      ifNoExists: async (key, queue) => {
        const instruction = Object.assign(Buffer.alloc(4_096), { uint32: new Uint32Array() });
        const length = writeKey(key, instruction, 0);
        const behind = this.#queued;
        const inside: (() => void)[] = [];
        this.#queued = inside;
        queue();
        this.#queued = behind;
        behind.push(() => {
          // Whoever drops the changes has changed the key meanwhile.
          if (!this.#data.has(name + instruction.toString("latin1", 0, length)))
            for (const make of inside) make();
        });
        return true;
      },
      getStats: () => ({}),
    };
  }

  async #transaction(action: () => void, seen?: () => void): Promise<void> {
    const queued: (() => void)[] = [];
    this.#queued = queued;
    await new Promise<void>((resolve) => systemEnvironment.defer(resolve));
    if (this.fates[0] === "panic at once") {
      this.fates.shift();
      throw panicked();
    }
    if (this.#isShared) this.writeElsewhere();
    this.transactions++;
    this.threads++;
    const before = new Map(this.#data);
    const puts = this.#puts;
    this.#isOpen = true;
    action();
    this.#writeQueued(queued);
    this.#isOpen = false;
    const unfit = this.failingPut > puts && this.#puts >= this.failingPut;
    const fate = unfit ? "lost" : (this.fates.shift() ?? "committed");
    if (fate === "committed" || fate === "unflushed") seen?.();
    if (fate === "committed") return;
    if (fate === "panic") throw panicked();
    if (fate !== "unflushed") {
      this.#data = before;
      // LMDB gives this transaction's number to the next one.
      this.transactions--;
    }
    if (fate.endsWith("overtaken")) this.writeElsewhere();
    if (fate.startsWith("no free pages")) throw Object.assign(new Error("bad size"), { code: -30781 });
    if (fate === "panic before") throw Object.assign(new Error("unknown transaction"), { code: 22 });
    for (let i = 0; fate === "lost, told late" && i < 5; i++) await turn();
    throw this.#failedPut ?? Object.assign(new Error("no space"), { code: systemErrorNumber });
  }
}

function put(row: string, signal?: AbortSignal): Request {
  const mutation = {
    table: "t",
    row: Buffer.from(row),
    guards: [],
    mutations: [
      {
        type: "put",
        column: Buffer.from("c"),
        part: "write",
        timestamp: 1,
        value: Buffer.from("x"),
      } as const,
    ],
  };
  return new Request({ type: "mutate", mutation }, false, { signal });
}

function ask(queue: WriteQueue, request: Request): Promise<Answer> {
  queue.push(request);
  return request.answered;
}

/**
 * An environment whose clock never advances. A group takes requests for only some milliseconds.
 * With a real clock on a busy machine, a group could end between any two requests.
 */
const timeless = { ...systemEnvironment, monotonic: () => 0 };

type Mend = (error: unknown) => Promise<boolean>;

function startOn(lmdb: FakeLmdb, mend?: Mend) {
  return { lmdb, queue: new WriteQueue(lmdb.databases, timeless, "/data", undefined, mend) };
}

const ways = [
  { way: "LMDB's thread writes drafts", isShared: false },
  { way: "no draft is right, because another process writes too", isShared: true },
];

describe.each(ways)("the write queue, if $way,", ({ isShared }) => {
  const start = () => startOn(new FakeLmdb(isShared));

  const answersTo = (queue: WriteQueue, count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => ask(queue, put(`r${i}`))));

  it("does all waiting requests in one transaction if they are few", async () => {
    const { lmdb, queue } = start();
    expect(new Set(await answersTo(queue, 64))).toEqual(new Set(["applied"]));
    expect(lmdb.transactions).toBe(1);
    expect(lmdb.size).toBe(64);
  });

  it("does many waiting requests half by half, unless no draft is right", async () => {
    const { lmdb, queue } = start();
    expect(new Set(await answersTo(queue, 200))).toEqual(new Set(["applied"]));
    // 100, then 64 of the other 100, since this LMDB writes at once.
    expect(lmdb.transactions).toBe(isShared ? 1 : 3);
    expect(lmdb.size).toBe(200);
  });

  it("answers only requests that the file shows as flushed, however soon LMDB's binding reports it", async () => {
    const { lmdb } = start();
    let through = 0;
    let flushes = 0;
    const flush = async () => {
      // The first check happens while the flush still runs.
      if (++flushes === 2) through = lmdb.transactions;
    };
    const queue = new WriteQueue(lmdb.databases, systemEnvironment, "/data", {
      through: () => through,
      flush,
    });
    expect(await ask(queue, put("a"))).toBe("applied");
    expect(flushes).toBe(2);
    through = Number.POSITIVE_INFINITY;
    expect(await ask(queue, put("b"))).toBe("applied");
    expect(flushes).toBe(2);
  });

  it("fails a group whose flush fails after LMDB's binding has reported it done", async () => {
    const { lmdb } = start();
    const flush = () => Promise.reject(Object.assign(new Error("input/output"), { code: 5 }));
    const queue = new WriteQueue(lmdb.databases, systemEnvironment, "/data", { through: () => 0, flush });
    expect(await ask(queue, put("a"))).toBe("unknown");
    await expect(ask(queue, put("b"))).rejects.toThrow(StoreError);
  });

  it("acknowledges no commit if its files were moved meanwhile, and writes nothing more", async () => {
    const { lmdb } = start();
    const moved = new StoreMovedError("moved");
    let looks = 0;
    // The first check is before the group is written, the second before it is answered.
    const look = () => {
      if (++looks === 2) throw moved;
    };
    const queue = new WriteQueue(lmdb.databases, timeless, "/data", undefined, undefined, {
      checkPlace: look,
    });
    expect(await ask(queue, put("a"))).toBe("unknown");
    await expect(ask(queue, put("b"))).rejects.toBe(moved);
    expect(lmdb.size).toBe(1);
  });

  it("writes nothing if its files were moved before", async () => {
    const { lmdb } = start();
    const moved = new StoreMovedError("moved");
    const look = () => {
      throw moved;
    };
    const queue = new WriteQueue(lmdb.databases, timeless, "/data", undefined, undefined, {
      checkPlace: look,
    });
    await expect(ask(queue, put("a"))).rejects.toBe(moved);
    expect(lmdb.size).toBe(0);
  });

  it("writes nothing in a transaction that must not write, and does its requests in a later one", async () => {
    const { lmdb, queue } = start();
    expect(await ask(queue, put("a"))).toBe("applied");
    lmdb.forbidden = 3;
    const asked = ["b", "c"].map((row) => ask(queue, put(row)));
    const sizes: number[] = [];
    for (; lmdb.forbidden > 0; await turn()) sizes.push(lmdb.size);
    expect(new Set(sizes)).toEqual(new Set([1]));
    expect(await Promise.all(asked)).toEqual(["applied", "applied"]);
    expect([lmdb.size, lmdb.transactions]).toEqual([3, 5]);
  });

  it("begins a transaction without requests if it is asked to, but only one at a time", async () => {
    const { lmdb, queue } = start();
    queue.touch();
    queue.touch();
    await queue.idle();
    expect([lmdb.size, lmdb.transactions]).toEqual([0, 1]);
    expect(await ask(queue, put("a"))).toBe("applied");
  });

  it("fails a group that LMDB could not commit, and does the next one", async () => {
    const { lmdb, queue } = start();
    lmdb.fates = ["lost"];
    const failed = await Promise.allSettled([ask(queue, put("a")), ask(queue, put("b"))]);
    for (const each of failed) {
      expect(each).toMatchObject({ status: "rejected", reason: expect.any(StoreFullError) });
    }
    expect(lmdb.size).toBe(0);
    expect(await ask(queue, put("a"))).toBe("applied");
    expect(lmdb.size).toBe(1);
  });

  it("fails the group of a failed put with its reason, and does the next one", async () => {
    const { lmdb, queue } = start();
    lmdb.failingPut = 2;
    const asked = await Promise.allSettled(["a", "b"].map((row) => ask(queue, put(row))));
    for (const each of asked) {
      expect(each).toMatchObject({
        status: "rejected",
        reason: { message: expect.stringMatching(/map full/) },
      });
    }
    expect(lmdb.size).toBe(0);
    expect(await ask(queue, put("c"))).toBe("applied");
    expect(lmdb.size).toBe(1);
  });

  it("answers unknown after a failed flush, and takes no more writes", async () => {
    const { lmdb, queue } = start();
    lmdb.fates = ["unflushed"];
    const batch = {
      rows: [
        {
          table: "t",
          row: Buffer.from("b"),
          guards: [],
          mutations: [
            {
              type: "put",
              column: Buffer.from("c"),
              part: "write",
              timestamp: commitTimestamp,
              value: Buffer.from("x"),
            } as const,
          ],
        },
      ],
    };
    const asked = [
      ask(queue, put("a")),
      ask(queue, new Request({ type: "commit", batch }, false, undefined)),
    ];
    expect(await Promise.all(asked)).toEqual([
      "unknown",
      { answer: "unknown", cause: expect.any(StoreError) },
    ]);
    const next = ask(queue, put("c"));
    await expect(next).rejects.toThrow(StoreError);
    await expect(next).rejects.toThrow(/could not flush.*open the database again/);
    expect(lmdb.size).toBe(2);
  });

  it("answers unknown if another process committed before it could check, and continues", async () => {
    const { lmdb, queue } = start();
    lmdb.fates = ["overtaken"];
    expect(await ask(queue, put("a"))).toBe("unknown");
    expect(await ask(queue, put("b"))).toBe("applied");
  });

  it("begins the next group only after a lost one is reported", async () => {
    const { lmdb, queue } = start();
    lmdb.fates = ["lost, told late"];
    const first = Promise.allSettled([ask(queue, put("a"))]);
    while (lmdb.threads === 0) await turn();
    const second = ask(queue, put("b"));
    const [lost] = await first;
    expect(lost).toMatchObject({ status: "rejected", reason: expect.any(StoreFullError) });
    expect(lmdb.threads).toBe(1);
    expect(await second).toBe("applied");
    expect([lmdb.size, lmdb.transactions]).toEqual([1, 1]);
  });

  it("does not do a request that was aborted while it waited", async () => {
    const { lmdb, queue } = start();
    const controller = new AbortController();
    const given = ask(queue, put("a", controller.signal));
    const other = ask(queue, put("b"));
    controller.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    expect(await other).toBe("applied");
    expect(lmdb.size).toBe(1);
  });

  it("answers a timestamp before the flush, once LMDB has committed it", async () => {
    const { lmdb, queue } = start();
    let flushed = false;
    let looked = false;
    const { transaction } = lmdb.databases.root;
    Object.assign(lmdb.databases.root, {
      transaction: async (action: () => void, seen?: () => void) => {
        await transaction(action, seen);
        // The flush runs until the test has looked.
        while (!looked) await turn();
        flushed = true;
      },
    });
    const timestamp = await ask(queue, new Request({ type: "next" }, false, undefined));
    expect(timestamp).toBeGreaterThan(0);
    expect(flushed).toBe(false);
    looked = true;
    await queue.idle();
    expect(flushed).toBe(true);
  });
});

it("keeps no reference to answered requests, even if it never becomes empty", async () => {
  const { queue } = startOn(new FakeLmdb());
  const perGroup = 4_096;
  const pushMany = () => Promise.all(Array.from({ length: perGroup }, () => ask(queue, put("a"))));
  const answered = Array.from({ length: 8 }, () => {
    const request = put("a");
    queue.push(request);
    return new WeakRef(request);
  });
  // While the queue does one part of the requests, the next part already waits.
  let ahead = pushMany();
  for (let part = 0; part < 6; part++) {
    const done = ahead;
    ahead = pushMany();
    await done;
  }
  await turn();
  collectGarbage();
  expect(answered.filter((request) => request.deref() !== undefined)).toEqual([]);
  await ahead;
});

describe.each(ways)("the write queue on a broken environment, if $way,", ({ isShared }) => {
  const start = (mend: Mend) => startOn(new FakeLmdb(isShared), mend);

  it("answers the committed requests once LMDB is reopened", async () => {
    const reopened: unknown[] = [];
    const { lmdb, queue } = start(async (error) => reopened.push(error) > 0);
    lmdb.fates = ["panic"];
    expect(await Promise.all([ask(queue, put("a")), ask(queue, put("b"))])).toEqual(["applied", "applied"]);
    expect(reopened).toMatchObject([{ code: -30795 }]);
    expect(lmdb.threads).toBe(1);
    expect(await ask(queue, put("c"))).toBe("applied");
  });

  it("repeats requests that were certainly not done, a few times", async () => {
    const { lmdb, queue } = start(async () => true);
    lmdb.fates = ["panic before", "panic before"];
    expect(await Promise.all([ask(queue, put("a")), ask(queue, put("b"))])).toEqual(["applied", "applied"]);
    expect([lmdb.size, lmdb.threads]).toEqual([2, 3]);
    lmdb.fates = ["panic before", "panic before", "panic before"];
    await expect(ask(queue, put("c"))).rejects.toThrow(StoreError);
    expect(await ask(queue, put("d"))).toBe("applied");
  });

  it("repeats requests that LMDB lost with its free pages, even if another process has committed since", async () => {
    const { lmdb, queue } = start(async () => true);
    lmdb.fates = ["no free pages, overtaken"];
    expect(await Promise.all([ask(queue, put("a")), ask(queue, put("b"))])).toEqual(["applied", "applied"]);
    expect([lmdb.size, lmdb.threads]).toEqual([2, 2]);
  });

  it("begins again if no transaction could be begun, a few times", async () => {
    const { lmdb, queue } = start(async () => true);
    lmdb.fates = ["panic at once", "panic at once"];
    expect(await ask(queue, put("a"))).toBe("applied");
    lmdb.fates = ["panic at once", "panic at once", "panic at once"];
    await expect(ask(queue, put("b"))).rejects.toThrow(StoreError);
    expect(await ask(queue, put("c"))).toBe("applied");
    expect(lmdb.size).toBe(2);
  });

  it("tells a request whose plan could not read LMDB what the next plan did", async () => {
    const { lmdb, queue } = start(async () => true);
    const { cells } = lmdb.databases;
    const { getBinaryFast } = cells;
    Object.assign(cells, {
      getBinaryFast: () => {
        Object.assign(cells, { getBinaryFast });
        throw panicked();
      },
    });
    lmdb.fates = ["panic at once"];
    expect(await ask(queue, put("a"))).toBe("applied");
    expect(lmdb.size).toBe(1);
  });

  it("answers unknown if LMDB cannot be reopened, and tries again with the next request", async () => {
    let fails = true;
    const { lmdb, queue } = start(async () => {
      if (fails) throw new StoreError("No.");
      return true;
    });
    lmdb.fates = ["panic", "panic at once", "panic at once"];
    expect(await ask(queue, put("a"))).toBe("unknown");
    await expect(ask(queue, put("b"))).rejects.toThrow("No.");
    fails = false;
    expect(await ask(queue, put("c"))).toBe("applied");
  });
});
