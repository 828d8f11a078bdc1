import { appendFile, cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import {
  type Column,
  codec,
  type Database,
  type Family,
  int,
  json,
  open,
  table,
  text,
  tuple,
} from "percolatordb";
import { backup, restore } from "percolatordb/backup";
import { memoryStore } from "percolatordb/memory";
import {
  answerLost,
  diesAfter,
  diesBefore,
  openWithHooks,
  ProcessStore,
  requestLost,
  StepHooks,
  showFailure,
  simulate,
  TestClock,
} from "percolatordb/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder, variants, withDatabase } from "../../../test/support/databases.js";
import { gather } from "../../../test/support/gather.js";
import {
  type ExportEntry,
  ExportQueueFullError,
  exportQueue,
  exportToFile,
  readExportFile,
} from "../index.js";

/** An external system that keeps new entries, and a log of everything that it received. */
class Receiver {
  readonly values = new Map<string, string[]>();
  readonly calls: (readonly ExportEntry<string>[])[] = [];
  readonly #last = new Map<string, number>();

  readonly deliver = (entries: readonly ExportEntry<string>[]) => {
    this.calls.push(entries);
    for (const { key, sequence, value } of entries) {
      const last = this.#last.get(key) ?? 0;
      if (sequence <= last) continue;
      this.#last.set(key, sequence);
      this.values.set(key, [...(this.values.get(key) ?? []), value]);
    }
  };
}

function copyFolder(from: string, to: string): Promise<void> {
  return cp(from, to, { recursive: true });
}

async function addAll(
  db: Database,
  queue: ReturnType<typeof exportQueue<string>>,
  key: string,
  values: string[],
) {
  for (const value of values) await db.transact((tx) => queue.add(tx, key, value));
}

describe.each(variants)("on $store, $commit", (variant) => {
  test("everything that transactions add arrives, in order for each key, with several workers", async () => {
    const receiver = new Receiver();
    const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver, batch: 3 });
    await withDatabase(variant, { observers: [queue.observer] }, async (db) => {
      await using _one = db.work();
      await using _other = db.work();
      const numbers = Array.from({ length: 12 }, (_, n) => String(n));
      await Promise.all(["a", "b", "c"].map((key) => addAll(db, queue, key, numbers)));
      await db.drain();
      expect(receiver.values).toEqual(new Map(["a", "b", "c"].map((key) => [key, numbers])));
      await db.transact(async (tx) => expect(await queue.waiting(tx, "a")).toBe(0));
      expect(await db.check()).toEqual([]);
    });
  });
});

test("if this process's clock is behind, sequences follow the timestamps", async () => {
  const environment = Object.assign(new TestClock().process(), { now: () => 0 });
  const queue = exportQueue("queue", { value: text(), deliver: () => {}, environment });
  await using db = await open("memory:", { tables: queue.tables });
  const [sequence, start] = await db.transact(
    async (tx) => [await queue.add(tx, "a", "x"), tx.startTimestamp] as const,
  );
  expect(start).toBeGreaterThan(0);
  expect(sequence).toBe(start);
});

test("several entries of one transaction are numbered, and those of a failed transaction do not exist", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver });
  await using db = await open("memory:", { observers: [queue.observer] });
  const sequences = await db.transact(async (tx) => [
    await queue.add(tx, "a", "x"),
    await queue.add(tx, "a", "y"),
  ]);
  const [first, second] = sequences as [number, number];
  expect(second).toBeGreaterThan(first);
  const failing = db.transact(async (tx) => {
    await queue.add(tx, "a", "never");
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  await using snapshot = await db.snapshot();
  expect(await gather(queue.entries(snapshot, "a"))).toEqual([
    { key: "a", sequence: first, value: "x" },
    { key: "a", sequence: second, value: "y" },
  ]);
  await db.drain();
  await addAll(db, queue, "a", ["z"]);
  await db.drain();
  expect(receiver.calls).toHaveLength(2);
  expect(receiver.calls[1]).toEqual([{ key: "a", sequence: expect.any(Number), value: "z" }]);
  expect(receiver.values.get("a")).toEqual(["x", "y", "z"]);
});

test("a key that the receiver refuses is parked alone; it can be retried, or the refused entry skipped", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", {
    key: tuple(text(), int()),
    value: text(),
    observer: { attempts: 2 },
    deliver: (entries) => {
      if (entries.some(({ value }) => value === "poison")) throw new Error("I will not take that.");
      receiver.deliver(entries.map((entry) => ({ ...entry, key: entry.key.join() })));
    },
  });
  const clock = new TestClock();
  await using db = await open("memory:", {
    environment: clock.process(),
    tables: queue.tables,
    observers: [queue.observer],
  });
  const poison = await db.transact(async (tx) => {
    const sequence = await queue.add(tx, ["a", 1], "poison");
    await queue.add(tx, ["a", 1], "good");
    await queue.add(tx, ["b", 2], "good");
    return sequence;
  });
  await clock.until(db.drain());
  expect(receiver.values).toEqual(new Map([["b,2", ["good"]]]));
  const [parked, ...others] = await gather(db.parked());
  expect(others).toEqual([]);
  expect(parked).toMatchObject({
    observer: "queue",
    row: ['["a",1]', 0],
    error: { message: "I will not take that." },
  });

  expect(await db.transact((tx) => queue.skip(tx, ["a", 1], poison))).toBe(1);
  await clock.until(db.drain());
  expect(receiver.values.get("a,1")).toEqual(["good"]);
  expect(await gather(db.parked())).toEqual([]);
});

test("after a failed delivery, a key's entries go out one by one at first, so a service that often fails gets all", async () => {
  const sent: string[][] = [];
  let calls = 0;
  const queue = exportQueue("queue", {
    value: text(),
    deliver: (entries) => {
      const call: string[] = [];
      sent.push(call);
      for (const { value } of entries) {
        if (++calls % 4 === 0) throw new Error("503");
        call.push(value);
      }
    },
  });
  const clock = new TestClock();
  await using db = await open("memory:", { environment: clock.process(), observers: [queue.observer] });
  const values = Array.from({ length: 12 }, (_, n) => String(n));
  await db.transact(async (tx) => {
    for (const value of values) await queue.add(tx, "a", value);
  });
  await clock.until(db.drain());
  expect(await gather(db.parked())).toEqual([]);
  expect(sent).toEqual([
    ["0", "1", "2"], // then it fails
    ["0"],
    ["1", "2"],
    [],
    ["3"],
    ["4", "5"],
    [],
    ["6"],
    ["7", "8"],
    [],
    ["9"],
    ["10", "11"],
  ]);
});

test("a refused entry is the first that waits, with those before it delivered once more at most", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", {
    value: text(),
    deliver: (entries) => {
      for (const entry of entries) {
        if (entry.value === "poison") throw new Error("I will not take that.");
        receiver.deliver([entry]);
      }
    },
  });
  const clock = new TestClock();
  await using db = await open("memory:", { environment: clock.process(), observers: [queue.observer] });
  await db.transact(async (tx) => {
    for (const value of ["x", "y", "z", "poison", "good"]) await queue.add(tx, "a", value);
  });
  await clock.until(db.drain());
  expect(receiver.calls.flat().map(({ value }) => value)).toEqual(["x", "y", "z", "x", "y", "z"]);
  const [first] = await db.transact((tx) => gather(queue.entries(tx, "a")));
  expect(first?.value).toBe("poison");

  expect(await db.transact((tx) => queue.skip(tx, "a", first!.sequence))).toBe(1);
  await clock.until(db.drain());
  expect(receiver.values.get("a")).toEqual(["x", "y", "z", "good"]);
});

test("a full queue refuses more, and a retried transaction waits for it", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver, waiting: 2 });
  await using db = await open("memory:", { observers: [queue.observer] });
  await addAll(db, queue, "a", ["1", "2"]);
  const refused = db.transact((tx) => queue.add(tx, "a", "3"), { retries: 0 });
  await expect(refused).rejects.toThrow(ExportQueueFullError);
  await expect(refused).rejects.toMatchObject({
    code: "LIMIT_EXCEEDED",
    queue: "queue",
    key: "a",
    retryable: true,
  });
  await db.transact((tx) => queue.add(tx, "b", "another key"));
  await using _worker = db.work();
  await addAll(db, queue, "a", ["3", "4", "5", "6"]);
  await db.drain();
  expect(receiver.values.get("a")).toEqual(["1", "2", "3", "4", "5", "6"]);
});

test("a delivery that hangs is abandoned, even if it ignores its signal", async () => {
  let calls = 0;
  const queue = exportQueue("queue", {
    value: text(),
    observer: { timeoutMs: 10_000 },
    deliver: () => (++calls === 1 ? new Promise<void>(() => {}) : undefined),
  });
  const clock = new TestClock();
  await using db = await open("memory:", {
    environment: clock.process(),
    tables: queue.tables,
    observers: [queue.observer],
  });
  await db.transact((tx) => queue.add(tx, "a", "1"));
  await clock.until(db.drain());
  expect(calls).toBe(2);
});

test("a key that was parked after a hundred calls is parked no more once all is delivered", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", {
    value: int(),
    batch: 1,
    observer: { attempts: 1 },
    deliver: (entries) => {
      if (isAway && entries[0]!.value === 99) throw new Error("Away.");
      receiver.deliver(entries.map((entry) => ({ ...entry, value: String(entry.value) })));
    },
  });
  let isAway = true;
  await using db = await open("memory:", { observers: [queue.observer] });
  await db.transact(async (tx) => {
    for (let n = 0; n < 101; n++) await queue.add(tx, "a", n);
  });
  await db.drain();
  expect(await gather(db.parked())).toHaveLength(1);
  isAway = false;
  await db.transact((tx) => queue.add(tx, "a", 101));
  await db.drain();
  expect(receiver.values.get("a")).toEqual(Array.from({ length: 102 }, (_, n) => String(n)));
  expect(await gather(db.parked())).toEqual([]);
});

test("a key whose delivery always hangs is parked alone, and the keys of its call are delivered", async () => {
  const receiver = new Receiver();
  const keys = ["a", "b", "c", "d", "hangs", "e", "f", "g"];
  const queue = exportQueue("queue", {
    value: text(),
    deliver: (entries) =>
      entries.some(({ key }) => key === "hangs") ? new Promise<void>(() => {}) : receiver.deliver(entries),
  });
  const clock = new TestClock();
  await using db = await open("memory:", { environment: clock.process(), observers: [queue.observer] });
  await db.transact(async (tx) => {
    for (const key of keys) await queue.add(tx, key, "1");
  });
  await clock.until(db.drain());
  expect((await gather(db.parked())).map(({ row }) => row)).toEqual([["hangs", 0]]);
  expect([...receiver.values.keys()].sort()).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
});

test("more entries than one run takes are all delivered, in several runs", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver, batch: 1 });
  await using db = await open("memory:", { observers: [queue.observer] });
  await db.transact(async (tx) => {
    for (let n = 1; n <= 60; n++) await queue.add(tx, "a", String(n));
  });
  await db.drain();
  expect(receiver.values.get("a")).toHaveLength(60);
  expect(await gather(db.parked())).toEqual([]);
});

test.each([
  { lost: "the answer", fault: answerLost },
  { lost: "the request", fault: requestLost },
])("the receiver has each entry once, even if $lost of the run's commit is lost", async ({ fault }) => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver });
  const hooks = new StepHooks();
  const clock = new TestClock();
  await using db = await openWithHooks("memory:", {
    environment: clock.process(),
    tables: queue.tables,
    observers: [queue.observer],
    hooks,
  });
  hooks.once("one-phase-commit", fault, ({ label }) => label === "queue");
  await addAll(db, queue, "a", ["1", "2"]);
  await clock.until(db.drain());
  expect(receiver.values.get("a")).toEqual(["1", "2"]);
});

test.each([
  { dies: "before its commit", step: "prewrite", fault: diesBefore, calls: 2 },
  { dies: "after its commit", step: "commit-primary", fault: diesAfter, calls: 1 },
] as const)(
  "a worker that dies $dies, after it delivered: $calls deliveries, and each entry once",
  async ({ step, fault, calls }) => {
    const receiver = new Receiver();
    const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver });
    const options = { tables: queue.tables, observers: [queue.observer], commit: "two-phase" } as const;
    const clock = new TestClock();
    const store = memoryStore({ environment: clock.process() });
    const [first, second] = [clock.process(), clock.process()];
    const hooks = new StepHooks();
    const dying = await openWithHooks(new ProcessStore(store, first), {
      ...options,
      environment: first,
      hooks,
    });
    await using db = await open(new ProcessStore(store, second), { ...options, environment: second });
    hooks.once(step, fault(first), ({ label }) => label === "queue");
    await addAll(dying, queue, "a", ["1", "2"]);
    void dying.drain();
    await clock.advance(1_000);
    expect(first.isDead).toBe(true);
    await clock.until(db.drain());
    expect(receiver.calls).toHaveLength(calls);
    expect(receiver.values.get("a")).toEqual(["1", "2"]);
  },
);

test("simulated: under every fault, committed entries arrive, once and in order", async () => {
  let receiver = new Receiver();
  const added = table("added", { values: json<readonly string[]>() });
  const queue = exportQueue("queue", {
    value: text(),
    deliver: (entries) => receiver.deliver(entries),
    batch: 2,
  });
  for (let run = 0; run < 3; run++) {
    receiver = new Receiver();
    const { failure } = await simulate({
      runs: 1,
      firstRun: run,
      tables: [...queue.tables, added],
      observers: [queue.observer],
      clients: ["one", "two"].map((name) => async ({ db, random, sleep, step }) => {
        for (let n = 1; n <= 4; n++) {
          await sleep(random.next() * 100);
          await step(`add ${n}`, () =>
            db.transact(async (tx) => {
              await queue.add(tx, "a", `${name} ${n}`);
              tx.set(added.values, "a", [...((await tx.get(added.values, "a")) ?? []), `${name} ${n}`]);
            }),
          );
        }
      }),
      check: async (db) => {
        await using snapshot = await db.snapshot();
        expect(receiver.values.get("a") ?? []).toEqual((await snapshot.get(added.values, "a")) ?? []);
      },
    });
    expect(failure && showFailure(failure)).toBeUndefined();
  }
});

describe("a file", () => {
  test("contains the delivered entries as lines, and is read without duplicates", async () => {
    const folder = await temporaryFolder();
    try {
      const path = join(folder.path, "orders.jsonl");
      const clock = new TestClock();
      const toFile = exportToFile(path);
      const deliver: typeof toFile = (...given) => clock.during(Promise.resolve(toFile(...given)));
      const queue = exportQueue("orders", { value: json<{ item: string }>(), deliver });
      const hooks = new StepHooks();
      await using db = await openWithHooks("memory:", {
        environment: clock.process(),
        tables: queue.tables,
        observers: [queue.observer],
        hooks,
      });
      hooks.once("one-phase-commit", requestLost, ({ label }) => label === "orders");
      const sequences = await db.transact(async (tx) => [
        await queue.add(tx, "ann", { item: "tea" }),
        await queue.add(tx, "ann", { item: "cup" }),
      ]);
      await clock.until(db.drain());
      const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
      expect(lines.length).toBeGreaterThanOrEqual(2);
      expect(lines[0]).toBe(`{"key": "ann","sequence":${sequences[0]},"value":{"item":"tea"}}`);
      expect((await gather(readExportFile(path))).map(({ sequence }) => sequence)).toEqual(sequences);
    } finally {
      await folder.remove();
    }
  });

  test("is read and continued, wherever a write to it was cut off", async () => {
    const folder = await temporaryFolder();
    try {
      const entry = (sequence: number) => ({ key: "a", sequence, value: { key: '{"key": "é' } });
      const signal = new AbortController().signal;
      const other = join(folder.path, "other.jsonl");
      await exportToFile(other)([entry(2)], { signal });
      const whole = await readFile(other, "utf8");
      let files = 0;
      const cut = fc.integer({ min: 0, max: Buffer.byteLength(whole) });
      const broken = fc.asyncProperty(cut, fc.boolean(), async (length, isMerged) => {
        const path = join(folder.path, `broken-${files++}.jsonl`);
        const deliver = exportToFile(path);
        await deliver([entry(1)], { signal });
        await appendFile(path, Buffer.from(whole).subarray(0, length));
        // Another process may have checked the end of the file before this write.
        if (isMerged) await appendFile(path, whole);
        else await deliver([entry(2)], { signal });
        await deliver([entry(3)], { signal });
        expect(await gather(readExportFile(path))).toEqual([entry(1), entry(2), entry(3)]);
      });
      await fc.assert(broken, { numRuns: 15 });
    } finally {
      await folder.remove();
    }
  });
});

test("invalid options are refused", () => {
  const deliver = () => {};
  expect(() => exportQueue("queue", { value: text(), deliver, batch: 0 })).toThrow("`batch`");
  expect(() => exportQueue("queue", { value: text(), deliver, waiting: 0 })).toThrow("`waiting`");
  expect(() => exportQueue("queue", { value: text(), deliver, together: 0.5 })).toThrow("`together`");
});

test.each([
  { from: "an older backup", save: backup, bringBack: restore },
  { from: "an older copy of the files", save: copyFolder, bringBack: copyFolder },
])("after a restore from $from, a receiver accepts the new entries, and no repeated ones", async (way) => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const [data, place, restored] = ["data", "backups", "restored"].map((name) => join(folder.path, name));
  const path = join(folder.path, "entries.jsonl");
  const queue = exportQueue<string, string>("queue", { value: text(), deliver: exportToFile(path) });
  const options = { tables: queue.tables, observers: [queue.observer] };
  {
    await using db = await open(data!, options);
    await addAll(db, queue, "a", ["delivered before the backup"]);
    await db.drain();
    await addAll(db, queue, "a", ["waits in the backup"]);
  }
  await way.save(data!, place!);
  {
    await using db = await open(data!, options);
    await addAll(db, queue, "a", ["lost by the restore"]);
    await db.drain();
  }
  await way.bringBack(place!, restored!);
  await using db = await open(restored!, options);
  await db.transact(async (tx) => {
    for (const value of ["new", "also new"]) await queue.add(tx, "a", value);
    expect(await queue.waiting(tx, "a")).toBe(3);
  });
  await db.drain();
  const entries = await gather(readExportFile(path));
  expect(entries.flatMap(({ key, value }) => (key === "a" ? [value] : []))).toEqual([
    "delivered before the backup",
    "waits in the backup",
    "lost by the restore",
    "new",
    "also new",
  ]);
  expect(entries.every(({ sequence }) => Number.isSafeInteger(sequence))).toBe(true);
  await db.transact(async (tx) => expect(await queue.waiting(tx, "a")).toBe(0));
});

test("entries that an earlier version numbered 1, 2, 3 are delivered before new ones, and counted", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver });
  await using db = await open("memory:", { tables: queue.tables, observers: [queue.observer] });
  const rows = queue.tables[0] as unknown as {
    readonly added: Column<number>;
    readonly delivered: Column<number>;
    readonly entries: Family<string>;
  };
  await db.transact((tx) => {
    tx.set(rows.added, "a", 3);
    tx.set(rows.delivered, "a", 1);
    for (const n of [2, 3]) tx.set(rows.entries.at(String(n).padStart(16, "0")), "a", `old ${n}`);
  });
  await db.transact(async (tx) => {
    expect(await queue.waiting(tx, "a")).toBe(2);
    expect(await queue.add(tx, "a", "new")).toBeGreaterThan(3);
    expect(await queue.waiting(tx, "a")).toBe(3);
  });
  await db.drain();
  expect(receiver.values.get("a")).toEqual(["old 2", "old 3", "new"]);
  await db.transact(async (tx) => expect(await queue.waiting(tx, "a")).toBe(0));
});

test("`skip` drops the entries of a key up to a sequence, and the queue counts what is left", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", { value: text(), deliver: receiver.deliver });
  await using db = await open("memory:", { tables: queue.tables, observers: [queue.observer] });
  const [, second] = await db.transact(async (tx) => [
    await queue.add(tx, "a", "1"),
    await queue.add(tx, "a", "2"),
    await queue.add(tx, "a", "3"),
  ]);
  expect(await db.transact((tx) => queue.skip(tx, "a", second!))).toBe(2);
  await db.transact(async (tx) => expect(await queue.waiting(tx, "a")).toBe(1));
  await db.drain();
  expect(receiver.values.get("a")).toEqual(["3"]);
});

test("an entry that cannot be read stops only those behind it, and can be skipped", async () => {
  const receiver = new Receiver();
  const encode = (value: string) => Buffer.from(value);
  const before = codec<string>({ encode, decode: (bytes) => Buffer.from(bytes).toString() });
  const after = codec<string>({
    encode,
    decode: (bytes) => {
      const value = Buffer.from(bytes).toString();
      if (value === "bad") throw new Error("no such value");
      return value;
    },
  });
  const old = exportQueue("queue", { value: before, deliver: () => {} });
  const queue = exportQueue("queue", {
    value: after,
    observer: { attempts: 3, backoff: { initialMs: 1, maximumMs: 1 } },
    deliver: receiver.deliver,
  });
  await using db = await open("memory:", { tables: queue.tables, observers: [queue.observer] });
  const bad = await db.transact(async (tx) => {
    await old.add(tx, "a", "good 1");
    const sequence = await old.add(tx, "a", "bad");
    await old.add(tx, "a", "good 2");
    return sequence;
  });
  await db.drain();
  expect(receiver.values.get("a")).toEqual(["good 1"]);
  const [parked] = await gather(db.parked());
  expect(parked?.error.message).toContain(`key "a": entry ${bad} cannot be read: `);
  expect(await db.transact((tx) => queue.skip(tx, "a", bad))).toBe(1);
  for (const each of await gather(db.parked())) await db.retry(each);
  await db.drain();
  expect(receiver.values.get("a")).toEqual(["good 1", "good 2"]);
});

test("a call has at most `together` entries, also if `batch` is larger", async () => {
  const receiver = new Receiver();
  const queue = exportQueue("queue", { value: text(), together: 10, deliver: receiver.deliver });
  await using db = await open("memory:", { tables: queue.tables, observers: [queue.observer] });
  await db.transact(async (tx) => {
    for (let n = 0; n < 50; n++) await queue.add(tx, "a", `${n}`);
  });
  await db.drain();
  expect(receiver.values.get("a")).toHaveLength(50);
  expect(Math.max(...receiver.calls.map(({ length }) => length))).toBe(10);
});

test("a call has few large entries, and all of them arrive in order", async () => {
  const calls: number[][] = [];
  const queue = exportQueue("queue", {
    value: text(),
    deliver: (entries) => {
      calls.push(entries.map(({ value }) => Number.parseInt(value, 10)));
    },
  });
  await using db = await open("memory:", { tables: queue.tables, observers: [queue.observer] });
  for (let n = 0; n < 6; n++) {
    await db.transact((tx) => queue.add(tx, "a", `${n}`.padEnd(5_000_000)));
  }
  await db.drain();
  expect(calls).toEqual([
    [0, 1],
    [2, 3],
    [4, 5],
  ]);
});
