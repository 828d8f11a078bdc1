import {
  ConflictError,
  codec,
  type Environment,
  InvalidKeyError,
  int,
  json,
  observer,
  open,
  type RowStore,
  StoreBusyError,
  StoreError,
  signal,
  type Transaction,
  table,
  text,
} from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import {
  diesAfter,
  diesBefore,
  openWithHooks,
  ProcessStore,
  requestLost,
  StepHooks,
  TestClock,
} from "percolatordb/testing";
import { describe, expect, test } from "vitest";
import { variants, withDatabase } from "../../../test/support/databases.js";
import { schedule, type View } from "../index.js";

const fired = table("fired", { times: int(), value: text() });

function reminders(environment: ReturnType<TestClock["process"]>) {
  return schedule("reminders", {
    value: text(),
    environment,
    spreads: 4,
    fire: async (tx, { key, value }) => {
      tx.set(fired.times, key, ((await tx.get(fired.times, key)) ?? 0) + 1);
      tx.set(fired.value, key, value);
    },
  });
}

describe.each(variants)("on $store, $commit", (variant) => {
  test("a due change fires once, even if several processes look for it at the same time", async () => {
    const clock = new TestClock();
    const due = reminders(clock.process());
    await withDatabase(variant, { tables: [fired, ...due.tables] }, async (db) => {
      await db.transact(async (tx) => {
        for (let n = 0; n < 8; n++) await due.after(tx, `key ${n}`, n < 6 ? 1_000 * n : 60_000, `value ${n}`);
      });
      await clock.advance(10_000);
      const counts = await Promise.all([due.fireDue(db), due.fireDue(db), due.fireDue(db)]);
      expect(counts.reduce((a, b) => a + b)).toBe(6);
      expect(await due.fireDue(db)).toBe(0);
      await using snapshot = await db.snapshot();
      const keys = Array.from({ length: 8 }, (_, n) => `key ${n}`);
      expect(await snapshot.getMany(fired.times, keys)).toEqual([1, 1, 1, 1, 1, 1, undefined, undefined]);
      expect(await due.get(snapshot, "key 0")).toBeUndefined();
      expect(await due.get(snapshot, "key 6")).toEqual({
        key: "key 6",
        dueAt: clock.now() + 50_000,
        value: "value 6",
      });
    });
  });
});

test("a change can be replaced and cancelled", async () => {
  const clock = new TestClock();
  const due = reminders(clock.process());
  await using db = await open("memory:");
  await db.transact((tx) => due.at(tx, "a", clock.now() + 1_000, "first"));
  await db.transact((tx) => due.at(tx, "a", new Date(clock.now() + 5_000), "second"));
  await db.transact((tx) => due.at(tx, "b", -0, "long ago"));
  await db.transact((tx) => due.at(tx, "c", clock.now(), "never"));
  expect(await db.transact((tx) => due.cancel(tx, "c"))).toBe(true);
  expect(await db.transact((tx) => due.cancel(tx, "c"))).toBe(false);
  await clock.advance(2_000);
  expect(await due.fireDue(db)).toBe(1);
  await clock.advance(3_000);
  expect(await due.fireDue(db)).toBe(1);
  const values = await db.transact((tx) => tx.getMany(fired.value, ["a", "b", "c"]));
  expect(values).toEqual(["second", "long ago", undefined]);
});

test("more due changes than one pass takes are fired, in limited passes", async () => {
  const clock = new TestClock();
  const due = reminders(clock.process());
  await using db = await open("memory:");
  await db.transact(async (tx) => {
    for (let n = 0; n < 450; n++) await due.at(tx, `key ${n}`, n, "");
  });
  expect(await due.fireDue(db)).toBe(450);
});

test("several changes fire at the same time, until the signal is aborted", async () => {
  let [firing, most] = [0, 0];
  const ending = new AbortController();
  const due = schedule("together", {
    value: text(),
    spreads: 1,
    fire: async (_, { key }) => {
      most = Math.max(most, ++firing);
      await new Promise(setImmediate);
      firing--;
      if (key === "key 29") ending.abort();
    },
  });
  await using db = await open("memory:", { tables: due.tables });
  await db.transact((tx) => Promise.all(Array.from({ length: 60 }, (_, n) => due.at(tx, `key ${n}`, n, ""))));
  await expect(due.fireDue(db, { signal: ending.signal })).rejects.toThrow("aborted");
  expect(most).toBe(8);
  const left = await due.fireDue(db);
  expect(left).toBeGreaterThanOrEqual(30);
  expect(left).toBeLessThan(40);
});

test("a change that throws is postponed, longer each time, and does not delay others", async () => {
  const clock = new TestClock();
  const told: unknown[] = [];
  const due = schedule("due", {
    value: text(),
    environment: clock.process(),
    spreads: 1,
    fire: (_, { value }) => {
      if (value === "bad") throw new Error("no");
    },
    onError: (error, change) => told.push([change?.key, String(error), clock.passedMs]),
  });
  await using db = await open("memory:");
  await db.transact(async (tx) => {
    await due.at(tx, "a", 1, "bad");
    await due.at(tx, "b", 2, "good");
  });
  expect(await due.fireDue(db)).toBe(1);
  for (let n = 0; n < 8; n++) {
    await clock.advance(1_000);
    expect(await due.fireDue(db)).toBe(0);
  }
  expect(told).toEqual([0, 1_000, 3_000, 7_000].map((at) => ["a", "Error: no", at]));
});

describe.each(variants)("on $store, $commit", (variant) => {
  test("a change that always throws is parked after its attempts, and can be retried or discarded", async () => {
    const clock = new TestClock();
    let isMended = false;
    const due = schedule("due", {
      value: text(),
      environment: clock.process(),
      attempts: 4,
      fire: (tx, { key, value }) => {
        if (!isMended) throw new Error(`no ${value}`);
        tx.set(fired.value, key, value);
      },
    });
    const parked = async (view: View) => {
      const found = [];
      for await (const change of due.parked(view)) found.push(change);
      return found;
    };
    await withDatabase(variant, { tables: [fired, ...due.tables] }, async (db) => {
      await db.transact(async (tx) => {
        await due.after(tx, "a", 0, "first");
        await due.after(tx, "b", 0, "second");
      });
      for (let second = 0; second < 7; second++) {
        await due.fireDue(db);
        expect(await db.transact(parked)).toEqual([]);
        await clock.advance(1_000);
      }
      await due.fireDue(db);
      const now = clock.now();
      const circumstances = { dueAt: now, attempts: 4, parkedAt: now };
      expect(await db.transact(parked)).toEqual([
        { key: "a", value: "first", ...circumstances, error: "Error: no first" },
        { key: "b", value: "second", ...circumstances, error: "Error: no second" },
      ]);
      expect(await db.transact((tx) => due.get(tx, "a"))).toBeUndefined();

      isMended = true;
      await clock.advance(7_200_000);
      expect(await due.fireDue(db)).toBe(0);
      expect(await db.transact((tx) => due.retry(tx, "a"))).toBe(true);
      expect(await db.transact((tx) => due.discard(tx, "b"))).toBe(true);
      expect(await db.transact((tx) => due.retry(tx, "b"))).toBe(false);
      expect(await due.fireDue(db)).toBe(1);
      expect(await db.transact(parked)).toEqual([]);
      expect(await db.transact((tx) => tx.getMany(fired.value, ["a", "b"]))).toEqual(["first", undefined]);
    });
  });

  test("a change whose writes the commit refuses is parked too, and does not delay others", async () => {
    const clock = new TestClock();
    const clashing = table("fired", { times: text() });
    const due = schedule("due", {
      value: text(),
      environment: clock.process(),
      attempts: 1,
      fire: (tx, { key, value }) => {
        if (value === "bad") tx.set(clashing.times, key, "never");
        else tx.set(fired.value, key, value);
      },
    });
    await withDatabase(variant, { tables: [fired, ...due.tables] }, async (db) => {
      await db.transact(async (tx) => {
        await due.after(tx, "a", 0, "bad");
        await due.after(tx, "b", 0, "good");
      });
      expect(await due.fireDue(db)).toBe(1);
      const [change] = await db.transact(async (tx) => [(await due.parked(tx).next()).value]);
      expect(change).toMatchObject({ key: "a", attempts: 1, error: expect.stringContaining("contradicts") });
    });
  });
});

/** Strings that do not begin with "bad". */
const strict = codec<string>({
  encode: (value) => Buffer.from(value),
  decode: (bytes) => {
    const value = Buffer.from(bytes).toString();
    if (value.startsWith("bad")) throw new Error("no");
    return value;
  },
});
const lax = codec<string>({ encode: strict.encode, decode: (bytes) => Buffer.from(bytes).toString() });

test("a change with an unreadable value is postponed and parked like one that throws, and keeps its value", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const told: unknown[] = [];
  const options = { environment, spreads: 1, attempts: 2 } as const;
  const before = schedule("due", { ...options, value: lax, fire: () => {} });
  const due = schedule("due", {
    ...options,
    value: strict,
    fire: () => {},
    onError: (_, change) => told.push(change),
  });
  await using db = await open("memory:");
  await db.transact(async (tx) => {
    await before.at(tx, "a", 1, "bad");
    await before.at(tx, "b", 2, "good");
  });
  expect(await due.fireDue(db)).toBe(1);
  expect(told).toEqual([{ key: "a", dueAt: 1, value: undefined }]);
  await clock.advance(1_000);
  expect(await due.fireDue(db)).toBe(0);
  expect(told).toHaveLength(2);
  const first = async (which: typeof due) =>
    db.transact(async (tx) => (await which.parked(tx).next()).value ?? undefined);
  expect(await first(due)).toMatchObject({ key: "a", value: undefined, attempts: 2 });
  expect(await first(before)).toMatchObject({ key: "a", value: "bad" });
  expect(await db.transact((tx) => due.retry(tx, "a"))).toBe(true);
  expect(await before.fireDue(db)).toBe(1);
});

/** A store whose reads fail while the test says so. */
function failing(store: RowStore, fails: (row: Uint8Array | undefined) => boolean): RowStore {
  const instead: Partial<RowStore> = {
    zeroCopy: undefined,
    readRow: async (read, options) => {
      if (fails(read.row)) throw new StoreError("no answer");
      return await store.readRow(read, options);
    },
    readRange: async (read, options) => {
      if (fails(undefined)) throw new StoreError("no answer");
      return await store.readRange(read, options);
    },
  };
  return new Proxy(store, {
    get(target, name) {
      if (name in instead) return Reflect.get(instead, name) as unknown;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

test("a change for which the store fails does not delay others, and the error is thrown at the end", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const due = reminders(environment);
  let isFailing = false;
  const store = failing(
    memoryStore({ environment }),
    (row) => isFailing && row !== undefined && Buffer.from(row).includes("key 3"),
  );
  await using db = await open(store, { environment, tables: [fired, ...due.tables] });
  await db.transact(async (tx) => {
    for (let n = 0; n < 8; n++) await due.at(tx, `key ${n}`, n, "x");
  });
  isFailing = true;
  await expect(due.fireDue(db)).rejects.toThrow("no answer");
  isFailing = false;
  const keys = Array.from({ length: 8 }, (_, n) => `key ${n}`);
  const times = await db.transact((tx) => tx.getMany(fired.times, keys));
  expect(times).toEqual(keys.map((key) => (key === "key 3" ? undefined : 1)));
  expect(await due.fireDue(db)).toBe(1);
});

test("the worker reports that the store failed, and continues", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const told: unknown[] = [];
  const due = schedule("due", {
    value: text(),
    environment,
    spreads: 1,
    fire: (tx, { key, value }) => tx.set(fired.value, key, value),
    onError: (error, change) => told.push(error, change),
  });
  let failures = 0;
  const store = failing(memoryStore({ environment }), (row) => row === undefined && failures-- > 0);
  await using db = await open(store, { environment, tables: [fired, ...due.tables] });
  await db.transact((tx) => due.at(tx, "a", 1, "x"));
  failures = 1;
  const stop = new AbortController();
  const working = due.work(db, { signal: stop.signal });
  await clock.advance(500);
  expect(told).toEqual([expect.any(StoreError), undefined]);
  await clock.advance(1_000);
  stop.abort();
  await working;
  expect(told).toHaveLength(2);
  expect(await db.transact((tx) => tx.get(fired.value, "a"))).toBe("x");
});

test("the worker continues without `onError` while another process blocks writes to the store", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const due = schedule("due", {
    value: text(),
    environment,
    spreads: 1,
    fire: (tx, { key, value }) => tx.set(fired.value, key, value),
  });
  await using db = await open("memory:", { environment, tables: [fired, ...due.tables] });
  await clock.until(db.transact((tx) => due.at(tx, "a", 1, "x")));
  const transact = db.transact;
  db.transact = () => Promise.reject(new StoreBusyError("Another process is stopped."));
  const stop = new AbortController();
  const working = due.work(db, { signal: stop.signal });
  await clock.advance(500);
  db.transact = transact;
  await clock.advance(1_000);
  stop.abort();
  await working;
  expect(await clock.until(db.transact((tx) => tx.get(fired.value, "a")))).toBe("x");
});

async function readOnAndOn(tx: Transaction): Promise<never> {
  for (;;) await tx.get(fired.value, "a");
}

const failures: readonly (readonly [string, (tx: Transaction) => unknown, string])[] = [
  [
    "throws what cannot be shown",
    () => {
      throw Object.create(null);
    },
    "The thrown value cannot be shown.",
  ],
  [
    "throws NaN",
    () => {
      throw Number.NaN;
    },
    "NaN",
  ],
  ["forgets an await", (tx) => void readOnAndOn(tx).catch(() => {}), "An `await` is missing"],
  ["is in conflict, and then forgets an await", conflictsAndForgets(), "An `await` is missing"],
];

/**
 * The first run of each attempt conflicts. The run that follows at once forgets an `await`, so it
 * cannot commit.
 */
function conflictsAndForgets(): (tx: Transaction) => unknown {
  let runs = 0;
  return (tx) => {
    if (++runs % 2 === 1) throw new ConflictError("Another was faster.");
    readOnAndOn(tx).catch(() => {});
  };
}

test.each(failures)("a change whose function %s is parked after its attempts", async (_, fire, message) => {
  const clock = new TestClock();
  const environment = clock.process();
  const told: unknown[] = [];
  const due = schedule("due", {
    value: text(),
    environment,
    attempts: 2,
    fire,
    onError: (error) => void told.push(error),
  });
  await using db = await open("memory:", { environment, tables: [fired, ...due.tables] });
  await clock.until(db.transact((tx) => due.after(tx, "a", 0, "x")));
  expect(await clock.until(due.fireDue(db))).toBe(0);
  await clock.advance(1_000);
  expect(await clock.until(due.fireDue(db))).toBe(0);
  expect(told).toHaveLength(2);
  await using snapshot = await clock.until(db.snapshot());
  const parked = [];
  for await (const change of due.parked(snapshot)) parked.push(change);
  expect(parked).toMatchObject([{ key: "a", value: "x", attempts: 2 }]);
  expect(parked[0]!.error).toContain(message);
  expect(await due.get(snapshot, "a")).toBeUndefined();
});

test("the worker fires due changes, and observers handle their writes", async () => {
  const documents = table("documents", { recheck: signal(), checked: int() });
  const clock = new TestClock();
  const process = clock.process();
  const rechecks = schedule("rechecks", {
    value: json<null>(),
    environment: process,
    fire: (tx, { key }) => tx.notify(documents.recheck, key),
  });
  const check = observer("check", documents.recheck, async (tx, { row }) => {
    tx.set(documents.checked, row, ((await tx.get(documents.checked, row)) ?? 0) + 1);
    await rechecks.after(tx, row, 60_000, null);
  });
  const tables = [documents, ...rechecks.tables];
  await using db = await open("memory:", { environment: process, tables, observers: [check] });
  const stop = new AbortController();
  const working = rechecks.work(db, { signal: stop.signal });
  const worker = db.work();
  await db.transact((tx) => rechecks.after(tx, "a", 0, null));
  await clock.advance(310_000);
  stop.abort();
  await working;
  await clock.until(worker.stop());
  const checked = await clock.until(db.transact((tx) => tx.get(documents.checked, "a")));
  expect(checked).toBe(6);
});

test.each([
  { name: "the request is lost", fault: () => requestLost },
  { name: "the process dies before", fault: diesBefore },
  { name: "the process dies after", fault: diesAfter },
])("it fires once, even if $name at its commit", async ({ fault }) => {
  const clock = new TestClock();
  const store = memoryStore({ environment: clock.process() });
  const [first, second] = [clock.process(), clock.process()];
  const [due, dueThere] = [reminders(first), reminders(second)];
  const hooks = new StepHooks();
  const options = { tables: [fired, ...due.tables], commit: "two-phase" } as const;
  const dying = await openWithHooks(new ProcessStore(store, first), {
    ...options,
    environment: first,
    hooks,
  });
  await using db = await open(new ProcessStore(store, second), { ...options, environment: second });
  await dying.transact((tx) => due.after(tx, "a", 0, "x"));
  hooks.once("commit-primary", fault(first), ({ label }) => label === "reminders");
  void due.fireDue(dying).catch(() => {});
  await clock.advance(20_000);
  await clock.until(dueThere.fireDue(db));
  expect(await clock.until(db.transact((tx) => tx.get(fired.times, "a")))).toBe(1);
});

test("the longest key does not depend on its hash, and a page of the longest keys is followed by the next", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const shown: string[] = [];
  const told: unknown[] = [];
  const due = schedule("due", {
    value: json<null>(),
    environment,
    spreads: 1,
    fire: (_, { key }) => void shown.push(key),
    onError: (error) => void told.push(error),
  });
  const spread = schedule("spread", { value: json<null>(), environment, spreads: 1_024, fire: () => {} });
  await using db = await open("memory:", { tables: [...due.tables, ...spread.tables], environment });
  const key = (n: number, length: number) => String(n).padStart(length, "k");
  const takes = (each: typeof due, text: string) =>
    clock.until(db.transact((tx) => each.after(tx, text, 0, null))).then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: "INVALID_KEY" });
        expect(String(error)).toContain("Schedule a shorter key");
        return false;
      },
    );
  let longest = 1_500;
  while (!(await takes(due, key(0, longest)))) longest--;
  expect(longest).toBeGreaterThan(1_450);
  for (let n = 0; n < 40; n++) {
    expect(await takes(spread, key(n, longest))).toBe(true);
    expect(await takes(spread, key(n, longest + 1))).toBe(false);
  }
  for (let n = 1; n < 250; n++) await takes(due, key(n, longest));
  const stop = new AbortController();
  const working = due.work(db, { signal: stop.signal });
  await clock.advance(500);
  stop.abort();
  await working;
  expect(told).toEqual([]);
  expect(new Set(shown)).toEqual(new Set(Array.from({ length: 250 }, (_, n) => key(n, longest))));
  expect(shown).toHaveLength(250);
});

test("work continues after any error that it can report, and ends when the database is closed", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const told: unknown[] = [];
  const fires: string[] = [];
  const options = { value: json<null>(), environment };
  const due = schedule("due", {
    ...options,
    fire: (_, { key }) => void fires.push(key),
    onError: (error) => void told.push(error),
  });
  const quiet = schedule("due", { ...options, fire: () => {} });
  const db = await open("memory:", { tables: due.tables, environment });
  await clock.until(db.transact((tx) => due.after(tx, "a", 0, null)));
  const transact = db.transact;
  const broken = new InvalidKeyError("It cannot be.");
  db.transact = () => Promise.reject(broken);
  await expect(quiet.work(db)).rejects.toBe(broken);
  const working = due.work(db);
  await clock.advance(500);
  expect(told).toEqual([broken]);
  db.transact = transact;
  await clock.advance(1_000);
  expect(fires).toEqual(["a"]);
  await clock.until(db.close());
  const ended = expect(working).rejects.toMatchObject({ code: "CLOSED" });
  await clock.advance(2_000);
  await ended;
});

test("a `fire` that meets the outage of another database delays its change, and no other", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const told: unknown[] = [];
  const due = schedule("due", {
    value: text(),
    environment,
    spreads: 1,
    fire: (tx, { key }) => {
      if (key === "a") throw new StoreError("the other database is down", { retryable: true });
      tx.set(fired.times, key, 1);
    },
    onError: (_, change) => told.push(change?.key),
  });
  await using db = await open("memory:", { environment, tables: [fired, ...due.tables] });
  await clock.until(
    db.transact(async (tx) => {
      await due.at(tx, "a", 1, "x");
      // More than a search takes at once.
      for (let n = 0; n < 150; n++) await due.at(tx, `b${n}`, 2 + n, "x");
    }),
  );
  const stop = new AbortController();
  const working = due.work(db, { signal: stop.signal });
  await clock.advance(12_000);
  stop.abort();
  await clock.until(working);
  expect(told).toEqual(["a"]);
  expect(await clock.until(db.transact((tx) => tx.get(fired.times, "b149")))).toBe(1);
});

test("a change whose transaction meets more conflicts than a `fire` may meet outages fires all the same", async () => {
  let conflicts = 0;
  const due = schedule("due", {
    value: text(),
    fire: async (tx) => {
      tx.set(fired.times, "a", 1);
      if (++conflicts <= 20) await db.transact((other) => other.set(fired.times, "a", 0));
    },
  });
  await using db = await open("memory:", { tables: [fired, ...due.tables] });
  await db.transact((tx) => due.at(tx, "a", 1, "x"));
  expect(await due.fireDue(db)).toBe(1);
  expect(conflicts).toBe(21);
});

const listeners: [what: string, onError: () => unknown][] = [
  [
    "throws",
    () => {
      throw new Error("no log");
    },
  ],
  ["rejects", () => Promise.reject(new Error("no log"))],
];

// Vitest fails if a rejection is not handled.
test.each(listeners)("an `onError` that %s does not end the work", async (_, onError) => {
  const clock = new TestClock();
  const environment = clock.process();
  let isMended = false;
  const fires: string[] = [];
  const told: unknown[] = [];
  const due = schedule("due", {
    value: text(),
    environment,
    fire: (_, { key }) => {
      if (!isMended) throw new Error("no");
      fires.push(key);
    },
    onError,
  });
  await using db = await open("memory:", { environment, tables: due.tables });
  await clock.until(db.transact((tx) => due.at(tx, "a", 1, "x")));
  const stop = new AbortController();
  const working = due.work(db, { signal: stop.signal, onError: (error) => told.push(String(error)) });
  await clock.advance(500);
  const transact = db.transact;
  db.transact = () => Promise.reject(new InvalidKeyError("It cannot be."));
  await clock.advance(1_000);
  db.transact = transact;
  isMended = true;
  await clock.advance(2_000);
  stop.abort();
  await clock.until(working);
  expect(told).toEqual(["Error: no", expect.stringContaining("It cannot be.")]);
  expect(fires).toEqual(["a"]);
});

test("a search that took long is not made from the beginning again at once", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  let tookMs = 0;
  const slow: Environment = {
    processName: environment.processName,
    now: () => environment.now(),
    monotonic: () => {
      tookMs += 1_000;
      return environment.monotonic() + tookMs;
    },
    random: () => environment.random(),
    uniqueId: () => environment.uniqueId(),
    setTimer: (...timer) => environment.setTimer(...timer),
    isRunning: (name) => environment.isRunning(name),
    defer: (callback) => environment.defer(callback),
  };
  const fires: string[] = [];
  const due = schedule("due", {
    value: text(),
    environment: slow,
    fire: (_tx, { key }) => void fires.push(key),
  });
  await using db = await open("memory:", { environment, tables: due.tables });
  const stop = new AbortController();
  const working = due.work(db, { signal: stop.signal });
  await clock.advance(10);
  const now = environment.now();
  await clock.until(
    db.transact(async (tx) => {
      await due.at(tx, "now", now, "");
      await due.at(tx, "half a minute ago", now - 30_000, "");
      await due.at(tx, "an hour ago", now - 3_600_000, "");
    }),
  );
  await clock.advance(1_010);
  expect(fires.sort()).toEqual(["half a minute ago", "now"]);
  // The search from the beginning took a second here, so that the next one is ten seconds later.
  await clock.advance(10_000);
  expect(fires.sort()).toEqual(["an hour ago", "half a minute ago", "now"]);
  stop.abort();
  await clock.until(working);
});
