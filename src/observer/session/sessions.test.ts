import { describe, expect, test } from "vitest";
import { countHints, openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents, length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { memoryStore } from "../../store/memory/index.js";
import { TestClock } from "../../testing/kit/index.js";
import { buckets } from "../hint/hint.js";
import { listParked, listPending, observer } from "../index.js";
import { BucketAssignment } from "../scan/bucket-assignment.js";
import { SessionRecords } from "./session-records.js";

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const forever = () => new Promise<void>(() => {});

describe("sessions", () => {
  test("a session is alive while a worker runs in it, and is gone after it", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    const one = await openTest({ store, environment, observers: [length] });
    const other = await openTest({ store, environment });
    const { session } = one.sessions;
    expect(await one.sessions.alive(session)).toBe(true);
    expect(await other.sessions.alive(session)).toBeUndefined();
    const worker = one.pool.work();
    await environment.advance(500);
    expect(await other.sessions.alive(session)).toBe(true);
    expect(other.sessions.hosting("length", 1)).toEqual([session]);
    expect(other.sessions.hosting("length", 2)).toEqual([]);
    await environment.advance(20_000);
    expect(await other.sessions.alive(session)).toBe(true);
    await environment.until(worker.stop());
    await environment.advance(500);
    expect(await other.sessions.alive(session)).toBeUndefined();
  });

  test("a session that claims to live for years is not believed: no process waits for it, and it is removed", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    const state = {
      observers: { length: 1 },
      expires: environment.now() + 10 * 365 * 86_400_000,
      process: "elsewhere",
    };
    await new SessionRecords(store, () => {}).put("years", state);
    const one = await openTest({ store, environment });
    expect((await one.sessions.list()).has("years")).toBe(false);
    expect(await one.sessions.alive("years")).toBe(false);
    expect(one.sessions.mayHost("length", 1)).toBe(false);
    const other = await openTest({ store, environment, observers: [length] });
    const worker = other.pool.work();
    await environment.advance(4_000);
    expect(await other.sessions.alive("years")).toBeUndefined();
    await environment.until(worker.stop());
  });

  test("a session without heartbeats is dead once its record expires, and a process removes it", async () => {
    const store = memoryStore();
    const stopped = new TestEnvironment();
    const one = await openTest({ store, environment: stopped, observers: [length] });
    one.pool.work();
    await stopped.settle();
    stopped.die();
    await stopped.advance(6_000);
    const environment = new TestEnvironment(stopped.clock);
    const other = await openTest({ store, environment, observers: [length] });
    // A process that runs no observers may be one that only reads. It leaves the record to others.
    for (let second = 0; second < 4; second++) {
      expect(await other.sessions.alive(one.sessions.session)).toBe(false);
      await environment.advance(1_000);
    }
    const worker = other.pool.work();
    await environment.advance(2_000);
    expect(await other.sessions.alive(one.sessions.session)).toBeUndefined();
    expect(other.sessions.suspectUpTo("length")).toBeGreaterThan(0);
    await environment.until(worker.stop());
  });

  test("resources of the store that a dead session's process held are freed when the session is removed", async () => {
    const store = memoryStore();
    const stopped = new TestEnvironment();
    const one = await openTest({ store, environment: stopped, observers: [length] });
    one.pool.work();
    await stopped.settle();
    stopped.die();
    await stopped.advance(6_000);
    const environment = new TestEnvironment(stopped.clock);
    let freed = 0;
    const freeing = new Proxy(store, {
      get: (target, name) => {
        if (name === "clearDead") return () => void freed++;
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const other = await openTest({ store: freeing, environment, observers: [length] });
    const worker = other.pool.work();
    await environment.advance(2_000);
    expect(other.sessions.suspectUpTo("length")).toBeGreaterThan(0);
    expect(freed).toBe(1);
    await environment.until(worker.stop());
  });

  test("processes that were paused together count each other as alive when they continue", async () => {
    const store = memoryStore();
    const environments = [new TestEnvironment(), new TestEnvironment()] as const;
    const databases: TestDatabase[] = [];
    for (const environment of environments)
      databases.push(await openTest({ store, environment, observers: [length] }));
    for (const db of databases) db.pool.work();
    for (let step = 0; step < 4; step++) for (const each of environments) await each.advance(500);
    const [first, second] = databases as [TestDatabase, TestDatabase];
    // The first process has seen the second one's last heartbeat. It wakes a moment before the
    // second one, and reads the sessions before the second one sends a heartbeat.
    await environments[0].advance(1_000);
    await environments[0].freeze(20_000);
    await first.sessions.refresh();
    expect(first.sessions.suspectUpTo("length")).toBe(0);
    await environments[0].advance(100);
    expect(first.sessions.hosting("length", 1)).toContain(second.sessions.session);
    await environments[1].freeze(20_000);
    for (let step = 0; step < 8; step++) for (const each of environments) await each.advance(500);
    for (const db of databases) expect(db.sessions.suspectUpTo("length")).toBe(0);
    // If a process really ended, the other one still detects that.
    await environments[0].advance(7_000);
    expect(await first.sessions.alive(second.sessions.session)).toBeUndefined();
  });

  test("a process that is always slow finds dead sessions", async () => {
    const store = memoryStore();
    const [slow, stopped] = [new TestEnvironment(), new TestEnvironment()];
    const one = await openTest({ store, environment: slow, observers: [length] });
    const other = await openTest({ store, environment: stopped, observers: [length] });
    for (const db of [one, other]) db.pool.work();
    for (const each of [stopped, slow]) await each.advance(2_000);
    expect(one.sessions.hosting("length", 1)).toContain(other.sessions.session);
    for (let beat = 0; beat < 8; beat++) {
      await slow.freeze(2_000);
      await slow.advance(1_000);
    }
    expect(one.sessions.hosting("length", 1)).toEqual([one.sessions.session]);
  });

  test("the buckets are divided: each has one owner, and each session its share", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    const databases: TestDatabase[] = [];
    for (let count = 0; count < 3; count++) {
      databases.push(await openTest({ store, environment, observers: [length] }));
    }
    const workers = databases.map((db) => db.pool.work());
    await environment.advance(1_500);
    const owners = Array.from({ length: buckets }, (_, bucket) =>
      databases.map((db) => db.pool.assignment.owns(length, bucket)),
    );
    for (const owned of owners) expect(owned.filter(Boolean)).toHaveLength(1);
    const parts = [0, 1, 2].map((index) => owners.filter((owned) => owned[index]).length);
    expect(Math.min(...parts)).toBeGreaterThanOrEqual(20);
    expect(Math.max(...parts)).toBeLessThanOrEqual(22);
    const first = owners.map((owned) => owned.indexOf(true));
    await environment.until(workers[2]!.stop());
    await environment.advance(1_500);
    const moved = first.filter(
      (owner, bucket) => owner < 2 && !databases[owner]!.pool.assignment.owns(length, bucket),
    );
    // Some buckets had gone to the session with the second-highest weight, because the first one's
    // share was full. Only these buckets move back.
    expect(moved.length).toBeLessThanOrEqual(buckets / 8);
    for (const worker of workers) await environment.until(worker.stop());
  });

  test("alone, a process owns all buckets", async () => {
    const db = await openTest({ observers: [length] });
    const shares = new BucketAssignment(db.sessions);
    expect(shares.ownsAll(length)).toBe(true);
    expect(Array.from({ length: buckets }, (_, bucket) => shares.owns(length, bucket))).not.toContain(false);
  });
});

describe("clocks that differ", () => {
  /** An environment with the same time as another, but with its wall clock ahead. */
  function ahead(environment: TestEnvironment, byMs: number): TestEnvironment {
    return new Proxy(environment, {
      get(target, property) {
        if (property === "now") return () => target.now() + byMs;
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  test.each([3_600_000, -3_600_000])(
    "by %d ms: a live process is not removed, and a dead one is",
    async (byMs) => {
      const environment = new TestEnvironment();
      const store = memoryStore({ environment });
      const one = await openTest({ store, environment, observers: [length] });
      const other = await openTest({ store, environment: ahead(environment, byMs), observers: [length] });
      const worker = one.pool.work();
      await environment.advance(500);
      const second = other.pool.work();
      await environment.advance(20_000);
      const sessions = [one.sessions.session, other.sessions.session].sort();
      for (const db of [one, other]) {
        expect(db.sessions.suspectUpTo("length")).toBe(0);
        expect([...db.sessions.hosting("length", 1)].sort()).toEqual(sessions);
      }
      // The process dies. None of its requests reaches the store any more.
      const stopped = new TestEnvironment();
      const dead = await openTest({ store, environment: ahead(stopped, byMs), observers: [length] });
      dead.pool.work();
      await stopped.settle();
      await environment.advance(1_500);
      await environment.advance(8_000);
      expect(one.sessions.hosting("length", 1)).not.toContain(dead.sessions.session);
      expect(one.sessions.suspectUpTo("length")).toBeGreaterThan(0);
      for (const each of [worker, second]) await environment.until(each.stop());
    },
  );

  test("a process that was paused until others had removed its session says again what it declares", async () => {
    const store = memoryStore();
    const [one, other] = [new TestEnvironment(), new TestEnvironment()];
    const paused = await openTest({ store, environment: one, observers: [length] });
    const watching = await openTest({ store, environment: other, observers: [length] });
    paused.sessions.declared = ["documents", "documents.length"];
    for (const db of [paused, watching]) db.pool.work();
    const together = async (steps: number) => {
      for (let step = 0; step < steps; step++) for (const each of [one, other]) await each.advance(500);
    };
    const declaring = () => other.until(watching.sessions.declaring("documents.length"));
    await together(4);
    expect(await declaring()).toHaveLength(1);
    await other.advance(10_000);
    expect(await watching.sessions.alive(paused.sessions.session)).toBeUndefined();
    expect(await declaring()).toEqual([]);
    await one.freeze(10_000);
    await together(8);
    expect(await declaring()).toHaveLength(1);
  });

  test("an end has one timestamp, even if several processes remove the session at the same time", async () => {
    const store = memoryStore();
    const records = new SessionRecords(store, () => undefined);
    const record = { observers: { length: 1 }, expires: 1, process: "p" };
    await records.put("s", record);
    expect(await Promise.all([records.end("s", 10), records.end("s", 11), records.end("s", 12)])).toEqual([
      10, 10, 10,
    ]);
    // The session is alive after all, so its next end gets a new timestamp.
    await records.put("s", { ...record, expires: 2 });
    expect(await records.end("s", 13)).toBe(13);
    expect(await all(records.all())).toEqual([["s", { ...record, expires: 2 }]]);
    await records.remove("s");
    expect(await records.end("s", 14)).toBeUndefined();
    expect(await all(records.all())).toEqual([]);
  });
});

test("a process without workers knows those of other processes when it waits until all is done", async () => {
  const environment = new TestEnvironment();
  const store = memoryStore({ environment });
  const releases: (() => void)[] = [];
  const slow = observer("length", documents.contents, async (tx, { row }) => {
    await new Promise<void>((resolve) => releases.push(resolve));
    tx.set(documents.length, row, 1);
  });
  const one = await openTest({ store, environment, observers: [slow] });
  const worker = one.pool.work();
  await environment.advance(500);
  await one.transact((tx) => tx.set(documents.contents, "a", "x"));
  await environment.settle();
  const other = await openTest({ store, environment });
  let isOver = false;
  const idle = other.pool.idle().then(() => {
    isOver = true;
  });
  await environment.advance(300);
  expect(isOver).toBe(false);
  for (const release of releases) release();
  await environment.until(idle);
  await environment.until(worker.stop());
});

describe.each(["one-phase", "two-phase"] as const)("workers that end badly, committing in %s", (commit) => {
  test("another process does the work of a dead one", async () => {
    const store = memoryStore();
    const stopped = new TestEnvironment();
    const make = (hangs: boolean) =>
      observer("o", documents.contents, (tx, { row }) => {
        if (hangs) return forever();
        tx.set(documents.length, row, 1);
      });
    const dying = await openTest({ commit, store, environment: stopped, observers: [make(true)] });
    dying.pool.work();
    await stopped.settle();
    const environment = new TestEnvironment();
    const db = await openTest({ commit, store, environment, observers: [make(false)] });
    const worker = db.pool.work();
    await environment.settle();
    await db.transact((tx) => {
      for (let index = 0; index < 60; index++) tx.set(documents.contents, `row ${index}`, "x");
    });
    await environment.settle();
    const done = () => db.runs.filter((run) => run.outcome === "committed").length;
    // The process runs its own share at once, and the other process's share after its hints have
    // waited for a while.
    expect(done()).toBeGreaterThan(5);
    expect(done()).toBeLessThan(55);
    await environment.advance(3_500);
    expect(done()).toBe(60);
    await environment.until(worker.stop());
  });

  test("an observer that ends its process is counted and finally parked, and concurrent runs are not", async () => {
    const store = memoryStore();
    let begun = 0;
    const killer = observer(
      "killer",
      documents.contents,
      (tx, { row }) => {
        if (row !== "bad") return tx.set(documents.length, row, 1);
        begun++;
        return forever();
      },
      { attempts: 3 },
    );
    const slow = observer("slow", documents.contents, async (tx, { row }) => {
      // A slow run, so that it is in progress when the process ends.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      tx.set(documents.words, row, 1);
    });
    const clock = new TestClock();
    const run = async () => {
      const environment = new TestEnvironment(clock);
      const db = await openTest({ commit, store, environment, observers: [killer, slow] });
      const worker = db.pool.work();
      return { environment, db, worker };
    };
    const first = await run();
    await first.db.transact((tx) => {
      for (const row of ["a", "b", "bad", "c"]) tx.set(documents.contents, row, "x");
    });
    for (let crash = 1; crash <= 3; crash++) {
      const { environment } = crash === 1 ? first : await run();
      // The run is too short to be announced as a long run. Only the end of the process shows the
      // crash.
      for (let waited = 0; begun < crash && waited < 100; waited++) await environment.advance(100);
      expect(begun).toBe(crash);
      environment.die();
      await clock.advance(6_000);
    }
    const last = await run();
    await last.environment.until(last.worker.idle());
    expect(begun).toBe(3);
    const parked = await all(listParked(last.db.registry));
    expect(parked.map((each) => [each.observer, each.row, each.attempts])).toEqual([["killer", "bad", 3]]);
    expect(parked[0]!.error.message).toContain(
      "started on documents/bad/contents 3 times and never finished",
    );
    const rows = await last.db.transact((tx) => tx.getMany(documents.length, ["a", "b", "c"]));
    expect(rows).toEqual([1, 1, 1]);
    const counted = await last.db.transact((tx) => tx.getMany(documents.words, ["a", "b", "bad", "c"]));
    expect(counted).toEqual([1, 1, 1, 1]);
    expect(await countHints(store)).toEqual({});
    await last.environment.until(last.worker.stop());
  });

  test("changes that wait next to an observer that ends its process are all handled in the end", async () => {
    const store = memoryStore();
    const rows = Array.from({ length: 30 }, (_, index) => `row ${index}`);
    let deaths = 0;
    const clock = new TestClock();
    /** A process whose runs all stop when one of them ends it. */
    const live = async () => {
      const environment = new TestEnvironment(clock);
      let isDead = false;
      const killer = observer("killer", documents.contents, async (tx, { row, value }) => {
        if (value === "bad") {
          isDead = true;
          deaths++;
        }
        for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
        if (isDead) await forever();
        tx.set(documents.length, row, 1);
      });
      const db = await openTest({ commit, store, environment, observers: [killer] });
      return { environment, db, worker: db.pool.work() };
    };
    const first = await live();
    await first.db.transact((tx) => {
      for (const row of rows) tx.set(documents.contents, row, row === "row 13" ? "bad" : "good");
    });
    let last = first;
    for (let life = 1; life <= 5; life++) {
      for (let waited = 0; deaths < life && waited < 100; waited++) await last.environment.advance(100);
      expect(deaths).toBe(life);
      last.environment.die();
      await clock.advance(6_000);
      last = await live();
    }
    await last.environment.until(last.worker.idle());
    expect(deaths).toBe(5);
    const parked = await all(listParked(last.db.registry));
    expect(parked.map((each) => [each.row, each.attempts])).toEqual([["row 13", 5]]);
    const lengths = await last.db.transact((tx) => tx.getMany(documents.length, rows));
    expect(lengths.filter((value) => value === 1)).toHaveLength(29);
    await last.environment.until(last.worker.stop());
  });

  test("changes that wait next to several changes that end their process are all handled in the end", async () => {
    const store = memoryStore();
    const good = Array.from({ length: 8 }, (_, index) => `good ${index}`);
    const clock = new TestClock();
    let life = 0;
    /** The life in which a process has ended last. */
    let ended = 0;
    /** A process in which a bad row ends it, unless it is the first. */
    const live = async () => {
      life++;
      const environment = new TestEnvironment(clock);
      const killer = observer(
        "killer",
        documents.contents,
        async (tx, { row, value }) => {
          const lasts = value === "good" ? 6 : 3;
          for (let turn = 0; turn < lasts; turn++) await new Promise((resolve) => setImmediate(resolve));
          if (value === "bad" && life > 1) ended = life;
          if (ended === life || life === 1) await forever();
          tx.set(documents.length, row, 1);
        },
        { attempts: 3 },
      );
      const db = await openTest({ commit, store, environment, observers: [killer] });
      return { environment, db, worker: db.pool.work() };
    };
    const write = (db: TestDatabase, rows: readonly string[], value: string) =>
      db.transact((tx) => {
        for (const row of rows) tx.set(documents.contents, row, value);
      });
    let last = await live();
    await write(last.db, good, "good");
    const bad = ["first", "second", "third"];
    let isIdle = false;
    while (!isIdle) {
      expect(life).toBeLessThan(20);
      // In each life, one more row is bad. So it has seen fewer ends than the good rows when it causes
      // the next end.
      const begins = bad[life - 1];
      if (begins !== undefined) await write(last.db, [begins], "bad");
      last.worker.idle().then(
        () => {
          isIdle = true;
        },
        () => undefined,
      );
      // Nothing ends the first process but this test. All rows are in progress then.
      for (let waited = 0; !isIdle && ended < life && waited < (life === 1 ? 10 : 200); waited++) {
        await last.environment.advance(100);
      }
      if (isIdle) break;
      if (life > 1) expect(ended).toBe(life);
      last.environment.die();
      await clock.advance(6_000);
      last = await live();
    }
    const parked = await all(listParked(last.db.registry));
    expect(parked.map(({ row }) => row).sort()).toEqual([...bad].sort());
    const lengths = await last.db.transact((tx) => tx.getMany(documents.length, good));
    expect(lengths).toEqual(good.map(() => 1));
    await last.environment.until(last.worker.stop());
  });

  test("another live process does not begin a long run a second time", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    let begun = 0;
    const releases: (() => void)[] = [];
    const long = observer("long", documents.contents, async (tx, { row }) => {
      begun++;
      await new Promise<void>((resolve) => releases.push(resolve));
      tx.set(documents.length, row, 1);
    });
    const databases: TestDatabase[] = [];
    for (let count = 0; count < 2; count++) {
      databases.push(await openTest({ commit, store, environment, observers: [long] }));
    }
    const workers = databases.map((db) => db.pool.work());
    await environment.advance(1_500);
    await databases[0]!.transact((tx) => {
      for (let index = 0; index < 20; index++) tx.set(documents.contents, `row ${index}`, "x");
    });
    await environment.advance(30_000);
    expect(begun).toBe(20);
    const pending = await all(listPending(databases[0]!.registry));
    expect(pending.map((each) => each.attempts)).toEqual(Array.from({ length: 20 }, () => 1));
    for (const release of releases) release();
    for (const worker of workers) await environment.until(worker.idle());
    expect(begun).toBe(20);
    expect(databases.flatMap((db) => db.runs.map((run) => run.outcome))).toEqual(
      Array.from({ length: 20 }, () => "committed"),
    );
    for (const worker of workers) await environment.until(worker.stop());
  });
});
