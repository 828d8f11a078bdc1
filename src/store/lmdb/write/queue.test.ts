import { describe, expect, it } from "vitest";
import { collectGarbage } from "../../../../test/support/garbage.js";
import { systemEnvironment } from "../../../environment/index.js";
import { StoreError, StoreFullError, StoreMovedError } from "../../../errors/index.js";
import { commitTimestamp } from "../../index.js";
import type { Databases, Handle } from "../record/databases.js";
import { type CellAddress, type Key, writeKey } from "../record/key.js";
import { writeState } from "../record/state.js";
import { WriteQueue } from "./queue.js";
import { type Answer, Request } from "./request.js";

/**
 * The result of a commit in the fake.
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

function bytesOf(key: Key | CellAddress): string {
  const target = Buffer.alloc(4_096);
  return target.toString("latin1", 0, writeKey(key, target, 0));
}

const turn = () => new Promise<void>((resolve) => systemEnvironment.defer(resolve));
const panicked = () => Object.assign(new Error("MDB_PANIC"), { code: -30795 });

/** A fake of LMDB whose commits fail as the test says. */
class FakeLmdb {
  fates: Fate[] = [];
  /** The number of the put that throws, counted from 1. */
  failingPut = 0;
  transactions = 0;
  threads = 0;
  #puts = 0;
  #data = new Map<string, Buffer>();

  readonly databases: Databases = {
    root: {
      transaction: (action) => this.#transaction(action),
      transactionSync: (action) => action(),
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

  get size(): number {
    return [...this.#data.keys()].filter((key) => key.startsWith("cells")).length;
  }

  #handle<Entry>(name: string): Handle<Entry> {
    return {
      getBinaryFast: (key) => this.#data.get(name + bytesOf(key)),
      getRange: () => [],
      put: (key, value) => {
        if (++this.#puts === this.failingPut) throw Object.assign(new Error("map full"), { code: -30792 });
        this.#data.set(name + bytesOf(key), Buffer.from(value));
      },
      remove: (key) => this.#data.delete(name + bytesOf(key)),
      getStats: () => ({}),
    };
  }

  async #transaction(action: () => void): Promise<void> {
    await new Promise<void>((resolve) => systemEnvironment.defer(resolve));
    if (this.fates[0] === "panic at once") {
      this.fates.shift();
      throw panicked();
    }
    this.transactions++;
    const thread = ++this.threads;
    const before = new Map(this.#data);
    const puts = this.#puts;
    action();
    const unfit = this.failingPut > puts && this.#puts >= this.failingPut;
    const fate = unfit ? "lost" : (this.fates.shift() ?? "committed");
    if (fate === "committed") return;
    if (fate === "panic") throw panicked();
    if (fate !== "unflushed") {
      this.#data = before;
      // LMDB gives the number to the next transaction.
      this.transactions--;
    }
    if (fate.endsWith("overtaken")) writeState(this.databases, { counter: 7, writer: 7, group: 7 });
    if (fate.startsWith("no free pages")) throw Object.assign(new Error("bad size"), { code: -30781 });
    if (fate === "panic before") throw Object.assign(new Error("unknown transaction"), { code: 22 });
    while (fate === "lost, told late" && this.threads === thread) await turn();
    if (fate === "lost, told late") await turn();
    throw Object.assign(new Error("no space"), { code: systemErrorNumber });
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
 * Stops the clock. A group takes requests for some milliseconds, which may pass at any time on a
 * busy machine.
 */
const timeless = { ...systemEnvironment, monotonic: () => 0 };

function start(mend?: (error: unknown) => Promise<boolean>) {
  const lmdb = new FakeLmdb();
  return { lmdb, queue: new WriteQueue(lmdb.databases, timeless, "/data", undefined, mend) };
}

describe("the write queue", () => {
  it("does all waiting requests in one transaction", async () => {
    const { lmdb, queue } = start();
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(queue, put(`r${i}`))));
    expect(new Set(answers)).toEqual(new Set(["applied"]));
    expect(lmdb.transactions).toBe(1);
    expect(lmdb.size).toBe(100);
  });

  it("answers only requests that the file shows as flushed, however soon LMDB's binding reports it", async () => {
    const { lmdb } = start();
    let through = 0;
    let flushes = 0;
    const flush = async () => {
      // The first look happens while the flush still runs.
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
    // The first look is before the group is written, the second before it is answered.
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

  it("fails the group of a failed put with its reason, and does the requests behind it", async () => {
    const { lmdb, queue } = start();
    lmdb.failingPut = 2;
    const asked = ["a", "b", "c"].map((row) => ask(queue, put(row)));
    const [first, second, third] = await Promise.allSettled(asked);
    for (const each of [first, second]) {
      expect(each).toMatchObject({
        status: "rejected",
        reason: { message: expect.stringMatching(/map full/) },
      });
    }
    expect(third).toEqual({ status: "fulfilled", value: "applied" });
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

  it("answers unknown if another process committed before it could look, and goes on", async () => {
    const { lmdb, queue } = start();
    lmdb.fates = ["overtaken"];
    expect(await ask(queue, put("a"))).toBe("unknown");
    expect(await ask(queue, put("b"))).toBe("applied");
  });

  it("reports a lost group as lost, even if a later group has its transaction's number and is committed", async () => {
    const { lmdb, queue } = start();
    lmdb.fates = ["lost, told late"];
    const first = Promise.allSettled([ask(queue, put("a"))]);
    await turn();
    expect(lmdb.transactions).toBe(0);
    const second = ask(queue, put("b"));
    const [lost] = await first;
    expect(lost).toMatchObject({ status: "rejected", reason: expect.any(StoreFullError) });
    expect(await second).toBe("applied");
    expect(await ask(queue, put("c"))).toBe("applied");
    expect([lmdb.size, lmdb.transactions]).toEqual([2, 2]);
  });

  it("does not do a request that was given up while it waited", async () => {
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
    const { transaction } = lmdb.databases.root;
    Object.assign(lmdb.databases.root, {
      transaction: async (action: () => void) => {
        const first = lmdb.transactions === 0;
        await transaction(action);
        // The first flush runs until the second transaction has begun.
        while (first && lmdb.transactions < 2)
          await new Promise<void>((done) => systemEnvironment.defer(done));
        if (first)
          for (let i = 0; i < 5; i++) await new Promise<void>((done) => systemEnvironment.defer(done));
        flushed ||= first;
      },
    });
    const timestamp = await ask(queue, new Request({ type: "next" }, false, undefined));
    expect(timestamp).toBeGreaterThan(0);
    expect(flushed).toBe(false);
    await queue.idle();
    expect(flushed).toBe(true);
  });
});

it("keeps no reference to answered requests, even if it never becomes empty", async () => {
  const { queue } = start();
  const perGroup = 4_096;
  const pushMany = () => Promise.all(Array.from({ length: perGroup }, () => ask(queue, put("a"))));
  const answered = Array.from({ length: 8 }, () => {
    const request = put("a");
    queue.push(request);
    return new WeakRef(request);
  });
  // While the queue does one part, the next one already waits.
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

describe("the write queue on a broken environment", () => {
  it("answers the committed requests once LMDB is reopened", async () => {
    const mended: unknown[] = [];
    const { lmdb, queue } = start(async (error) => mended.push(error) > 0);
    lmdb.fates = ["panic"];
    expect(await Promise.all([ask(queue, put("a")), ask(queue, put("b"))])).toEqual(["applied", "applied"]);
    expect(mended).toMatchObject([{ code: -30795 }]);
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
