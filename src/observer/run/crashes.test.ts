import { describe, expect, test } from "vitest";
import { countHints, openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { StoreError } from "../../errors/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { TestClock } from "../../testing/kit/index.js";
import { readHints } from "../hint/hint.js";
import { batchObserver, listParked, listPending, observer, retryParked, type Worker } from "../index.js";

const attempts = 3;
const maximumMs = 20_000;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Processes that end one after another. Each runs an observer on a row whose value is "bad". */
class Lives {
  readonly store = memoryStore();
  begun = 0;
  /** Whether the observer no longer ends its process. */
  isMended = false;
  /** Whether runs on row b fail. */
  fails = false;
  readonly #commit: "one-phase" | "two-phase";
  readonly #clock = new TestClock();
  environment = new TestEnvironment(this.#clock);

  constructor(commit: "one-phase" | "two-phase") {
    this.#commit = commit;
  }

  /** The observer. Its runs on a bad row end the process. */
  readonly killer = observer(
    "killer",
    documents.contents,
    (tx, { row, value }) => {
      if (this.fails && row === "b") throw new Error("no luck");
      if (value?.startsWith("bad") && !this.isMended) {
        this.begun++;
        return new Promise<void>(() => {});
      }
      tx.set(documents.length, row, 1);
    },
    { attempts, backoff: { initialMs: 5_000, maximumMs } },
  );

  /**
   * Starts a new process, which has already found that the previous process ended. It runs nothing
   * yet.
   */
  async next(): Promise<TestDatabase> {
    if (this.environment.isDead) await this.#clock.advance(6_000);
    this.environment = new TestEnvironment(this.#clock);
    const db = await openTest({
      commit: this.#commit,
      store: this.store,
      environment: this.environment,
      observers: [this.killer],
    });
    void db.sessions.host({ killer: 1 });
    await this.environment.advance(3_000);
    return db;
  }

  /** Kills the process. */
  end(): void {
    this.environment.die();
  }

  write(db: TestDatabase, row: string, value: string): Promise<void> {
    return db.transact((tx) => tx.set(documents.contents, row, value));
  }

  /**
   * Lets time pass until `count` runs have begun, but too little time for a run to count as long.
   */
  async untilBegun(count: number): Promise<void> {
    for (let waited = 0; this.begun < count && waited < 9; waited++) await this.environment.advance(100);
  }
}

test("a waiting change tells how often it failed, and how often a process ended while it was due", async () => {
  const lives = new Lives("one-phase");
  const first = await lives.next();
  await lives.write(first, "a", "bad");
  first.pool.work();
  await lives.untilBegun(1);
  lives.end();
  lives.fails = true;
  const second = await lives.next();
  await lives.write(second, "b", "good");
  second.pool.work();
  await lives.untilBegun(2);
  await lives.environment.settle();
  const pending = await all(listPending(second.registry));
  expect(pending).toMatchObject([
    { row: "a", attempts: 1, crashes: 1, lastError: undefined },
    { row: "b", attempts: 1, crashes: 0, lastError: "Error: no luck" },
  ]);
  lives.end();
});

test("a long run that is in progress has not failed", async () => {
  const lives = new Lives("one-phase");
  const db = await lives.next();
  await lives.write(db, "a", "bad");
  db.pool.work();
  await lives.untilBegun(1);
  await lives.environment.advance(2_000);
  const [stored] = (await readHints(db.context.store, { start: undefined, end: undefined }, 1, undefined))
    .hints;
  expect(stored!.state.runner).toBeDefined();
  expect(await all(listPending(db.registry))).toMatchObject([
    { row: "a", attempts: 1, crashes: 0, lastError: undefined },
  ]);
  lives.end();
});

describe.each(["one-phase", "two-phase"] as const)(
  "a cell that keeps changing, committing in %s",
  (commit) => {
    test("and kills its process each time is parked after its attempts", async () => {
      const lives = new Lives(commit);
      for (let life = 1; life <= attempts + 1; life++) {
        const db = await lives.next();
        // The end of the previous process is recorded before this write. That process therefore
        // cannot have run this version of the hint.
        await lives.write(db, "a", `bad ${life}`);
        db.pool.work();
        await lives.untilBegun(life);
        if (life > 1 && lives.begun < life) break;
        await lives.write(db, "a", `bad ${life} again`);
        lives.end();
      }
      // After the first death, any run may have been the cause. From the second death on, the crash
      // record shows which run it was.
      expect(lives.begun).toBeLessThanOrEqual(attempts + 1);
      const db = await lives.next();
      const worker = db.pool.work();
      await lives.environment.until(worker.idle());
      expect(lives.begun).toBeLessThanOrEqual(attempts + 1);
      const parked = await all(listParked(db.registry));
      expect(parked.map((each) => each.row)).toEqual(["a"]);
      expect(await countHints(lives.store)).toEqual({});
      await lives.environment.until(worker.stop());
    });

    /**
     * Starts a process that has parked the row. Every earlier process ended because of that row.
     */
    async function afterParking(lives: Lives): Promise<{ db: TestDatabase; worker: Worker; deaths: number }> {
      for (;;) {
        const db = await lives.next();
        await lives.write(db, "a", `bad ${lives.begun}`);
        const before = lives.begun;
        const worker = db.pool.work();
        await lives.untilBegun(before + 1);
        if (lives.begun === before) return { db, worker, deaths: before };
        expect(lives.begun).toBeLessThan(10);
        lives.end();
      }
    }

    test("and was parked for it ends at most one process in the longest wait between attempts", async () => {
      const lives = new Lives(commit);
      const { db, deaths } = await afterParking(lives);
      for (let second = 0; second < maximumMs / 1_000 - 2; second++) {
        await lives.write(db, "a", `bad in second ${second}`);
        await lives.environment.advance(1_000);
      }
      expect(lives.begun).toBe(deaths);
      await lives.environment.advance(3_000);
      expect(lives.begun).toBe(deaths + 1);
      lives.end();
      // One more death was enough: the row is parked again.
      const last = await lives.next();
      await lives.write(last, "a", "bad once more");
      last.pool.work();
      await lives.environment.advance(1_000);
      expect(lives.begun).toBe(deaths + 1);
      expect(await all(listParked(last.registry))).toHaveLength(1);
    });

    test("and whose wait the store cannot record is tried again", async () => {
      const lives = new Lives(commit);
      const { db } = await afterParking(lives);
      const { mutate } = lives.store;
      let failures = 0;
      lives.store.mutate = (mutation, options) => {
        const [put] = mutation.mutations;
        const isWait = put?.type === "put" && /"notBefore":[1-9]/.test(Buffer.from(put.value).toString());
        if (!isWait || failures > 0) return mutate.call(lives.store, mutation, options);
        failures++;
        return Promise.reject(new StoreError("The store does not answer."));
      };
      await lives.write(db, "a", "bad again");
      await lives.environment.advance(1_000);
      expect(failures).toBe(1);
      expect(db.failures).toMatchObject([{ doing: 'running observer "killer"', error: { code: "STORE" } }]);
      const { hints } = await readHints(lives.store, { start: undefined, end: undefined }, 1, undefined);
      expect(hints[0]!.state.notBefore).toBeGreaterThan(lives.environment.now());
      lives.end();
    });

    test("is handled as soon as it is harmless, or at once after `retry`", async () => {
      const lives = new Lives(commit);
      const { db, worker, deaths } = await afterParking(lives);
      await lives.write(db, "a", "good");
      await lives.environment.until(worker.idle());
      expect(await all(listParked(db.registry))).toEqual([]);
      expect(await countHints(lives.store)).toEqual({});
      await lives.write(db, "a", "bad");
      await lives.untilBegun(deaths + 1);
      lives.end();
      const after = await afterParking(lives);
      const [parked] = await all(listParked(after.db.registry));
      lives.isMended = true;
      expect(await retryParked(after.db.registry, parked!)).toBe(true);
      await lives.environment.advance(500);
      expect(await all(listParked(after.db.registry))).toEqual([]);
      expect(await countHints(lives.store)).toEqual({});
      await lives.environment.until(after.worker.stop());
    });

    test("a run that failed before its process ended, and whose announcement was renewed since, does not count as a crash", async () => {
      const lives = new Lives(commit);
      const first = await lives.next();
      await lives.write(first, "a", "bad");
      first.pool.work();
      await lives.untilBegun(1);
      lives.end();
      lives.isMended = true;
      const second = await lives.next();
      lives.fails = true;
      await lives.write(second, "b", "good");
      second.pool.work();
      await lives.environment.advance(500);
      expect(second.runs.filter((run) => run.outcome === "failed")).toHaveLength(1);
      // The hint waits for its second attempt, and does not run.
      lives.end();
      lives.fails = false;
      const last = await lives.next();
      await lives.write(last, "b", "good again");
      const worker = last.pool.work();
      await lives.environment.until(worker.idle());
      expect(last.runs.filter(({ cause }) => cause.cell.row.toString() === "b")).toMatchObject([
        { outcome: "committed", attempts: 0 },
      ]);
      await lives.environment.until(worker.stop());
    });
  },
);

describe.each(["one-phase", "two-phase"] as const)("batches of processes that end, in %s", (commit) => {
  /** Processes with a batch observer, whose runs hang as long as `hangs` says. */
  class BatchLives {
    readonly store = memoryStore();
    readonly sizes: number[] = [];
    hangs: (rows: readonly string[]) => boolean = () => false;
    readonly #clock = new TestClock();
    environment = new TestEnvironment(this.#clock);
    readonly #counting = batchObserver(
      "counting",
      documents.contents,
      async (tx, changes) => {
        const rows = changes.map(({ row }) => row);
        this.sizes.push(rows.length);
        if (this.hangs(rows)) await new Promise(() => {});
        for (const row of rows)
          tx.set(documents.length, row, ((await tx.get(documents.length, row)) ?? 0) + 1);
      },
      { attempts },
    );

    /** Starts a process after the one before was killed during a run. */
    async next(): Promise<TestDatabase> {
      this.environment.die();
      await this.#clock.advance(6_000);
      this.environment = new TestEnvironment(this.#clock);
      this.sizes.splice(0);
      const db = await openTest({
        commit,
        store: this.store,
        environment: this.environment,
        observers: [this.#counting],
      });
      void db.sessions.host({ counting: 1 });
      await this.environment.advance(3_000);
      return db;
    }

    async write(db: TestDatabase, count: number): Promise<void> {
      await db.transact((tx) => {
        for (let n = 0; n < count; n++) tx.set(documents.contents, `row ${n}`, "x");
      });
    }
  }

  test("after one process was killed, the changes of its run and those that waited are handled in batches", async () => {
    const lives = new BatchLives();
    const first = await lives.next();
    lives.hangs = () => true;
    await lives.write(first, 250);
    first.pool.work();
    await lives.environment.advance(500);
    expect(lives.sizes).toEqual([100]);
    lives.hangs = () => false;
    const second = await lives.next();
    const worker = second.pool.work();
    await lives.environment.until(worker.idle());
    expect(lives.sizes.length).toBeLessThan(10);
    expect(await all(listParked(second.registry))).toEqual([]);
    await lives.write(second, 250);
    await lives.environment.until(worker.idle());
    expect(lives.sizes.length).toBeLessThan(20);
    const handled = await second.transact((tx) => all(tx.scan(documents.length)));
    expect(handled).toHaveLength(250);
    expect(new Set(handled.map(({ value }) => value))).toEqual(new Set([2]));
    await second.context.background.settled();
    expect(await countHints(lives.store)).toEqual({});
    await lives.environment.until(worker.stop());
  });

  test("only the change that ends its processes is parked", async () => {
    const lives = new BatchLives();
    let db = await lives.next();
    lives.hangs = (rows) => rows.includes("row 7");
    await lives.write(db, 12);
    for (let deaths = 0; ; deaths++) {
      expect(deaths).toBeLessThanOrEqual(attempts + 1);
      db.pool.work();
      await lives.environment.advance(900);
      const parked = await all(listParked(db.registry));
      if (parked.length > 0) {
        expect(parked.map(({ row }) => row)).toEqual(["row 7"]);
        break;
      }
      db = await lives.next();
    }
    await lives.environment.until(db.pool.drain());
    const handled = await db.transact((tx) => all(tx.scan(documents.length)));
    expect(handled.map(({ value }) => value)).toEqual(Array.from({ length: 11 }, () => 1));
    await db.pool.close();
  });
});
