import { afterEach, describe, expect, test } from "vitest";
import { TestCluster } from "../../../test/support/observer/cluster.js";
import { openTest, type TestDatabase, type TestOptions } from "../../../test/support/observer/context.js";
import { documents, length, words } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { StoreError, StoreFullError } from "../../errors/index.js";
import { columnPath } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import type { CommitHooks } from "../../transaction/index.js";
import { hintAddress, hintPrefix, readHints, type StandingHint, writeHintState } from "../hint/hint.js";
import { listParked, type Observer, observer } from "../index.js";

interface TimedOptions extends TestOptions {
  readonly environment: TestEnvironment;
}

const open: { readonly db: TestDatabase; readonly environment: TestEnvironment }[] = [];

async function start(options: TimedOptions): Promise<TestDatabase> {
  const db = await openTest(options);
  open.push({ db, environment: options.environment });
  return db;
}

afterEach(async () => {
  for (const { db, environment } of open.splice(0)) await environment.until(db.close());
});

async function hintsOf(store: RowStore, name: string): Promise<readonly StandingHint[]> {
  const { hints } = await readHints(store, { start: undefined, end: undefined }, 100);
  return hints.filter((hint) => hint.observer === name);
}

/** An observer whose runs last until the test releases them. */
function longRunning() {
  const releases: (() => void)[] = [];
  let begun = 0;
  const long = observer("long", documents.contents, async (tx, { row }) => {
    begun++;
    await new Promise<void>((resolve) => releases.push(resolve));
    tx.set(documents.length, row, 1);
  });
  const release = () => {
    for (const each of releases.splice(0)) each();
  };
  return { long, release, begun: () => begun };
}

const write = (db: TestDatabase) => db.transact((tx) => tx.set(documents.contents, "a", "two words"));
const outcomes = ({ runs }: TestDatabase) => runs.map((run) => run.outcome);

describe.each(["one-phase", "two-phase"] as const)("a long run, committing in %s", (commit) => {
  test("that is aborted with its worker goes to another worker, while the session lives", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    const { long, release } = longRunning();
    const one = await start({ commit, store, environment, observers: [long, words] });
    one.pool.work({ observers: [words] });
    const worker = one.pool.work({ observers: [long] });
    await environment.advance(1_000);
    await write(one);
    await environment.advance(1_500);
    expect((await hintsOf(store, "long"))[0]?.state).toMatchObject({
      attempts: 1,
      runner: one.sessions.session,
    });
    await environment.until(worker.stop({ timeoutMs: 10 }));
    expect((await hintsOf(store, "long"))[0]?.state).toEqual({ attempts: 0, notBefore: 0 });
    const other = await start({ commit, store, environment, observers: [long] });
    const taking = other.pool.work();
    await environment.advance(5_000);
    release();
    await environment.until(taking.idle());
    expect(outcomes(other)).toEqual(["committed"]);
    expect(other.sessions.isLive(one.sessions.session)).toBe(true);
  });

  test.each(["conflict", "setback"] as const)("that ends with a %s counts for nothing", async (end) => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    const { long, release } = longRunning();
    let isFull = false;
    const db = await start({
      commit,
      store,
      environment,
      observers: [long],
      hooks: {
        async step(name, info, run) {
          const isCommit = name === "one-phase-commit" || name === "prewrite";
          if (isFull && isCommit && info.label === "long") throw new StoreFullError("no space left");
          return run();
        },
      },
    });
    const worker = db.pool.work();
    await environment.advance(1_000);
    await write(db);
    await environment.advance(1_500);
    if (end === "conflict") await db.transact((tx) => tx.set(documents.length, "a", 7));
    else isFull = true;
    const stopped = worker.stop();
    release();
    await environment.until(stopped);
    expect(outcomes(db)).toEqual([end === "conflict" ? "conflict" : "failed"]);
    expect((await hintsOf(store, "long"))[0]?.state).toEqual({ attempts: 0, notBefore: 0 });
  });

  test("that was stopped as often as it may fail is not parked for that", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    const { long, release, begun } = longRunning();
    for (let stop = 1; stop <= long.attempts; stop++) {
      const db = await start({ commit, store, environment, observers: [long] });
      const worker = db.pool.work();
      await environment.advance(1_000);
      if (stop === 1) await write(db);
      await environment.advance(3_000);
      expect(begun()).toBe(stop);
      await environment.until(worker.stop({ timeoutMs: 10 }));
    }
    const last = await start({ commit, store, environment, observers: [long] });
    const worker = last.pool.work();
    await environment.advance(1_000);
    release();
    await environment.until(worker.idle());
    expect(last.runs.map((run) => [run.outcome, run.attempts])).toEqual([["committed", 0]]);
    expect(await listParked(last.registry).next()).toMatchObject({ done: true });
  });

  test("does not begin again while its worker waits for it and another worker begins", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    const { long, release, begun } = longRunning();
    const one = await start({ commit, store, environment, observers: [long, words] });
    const worker = one.pool.work({ observers: [long] });
    await environment.advance(1_000);
    await write(one);
    await environment.advance(1_500);
    const stopped = worker.stop();
    one.pool.work({ observers: [words] });
    const other = await start({ commit, store, environment, observers: [long] });
    const waiting = other.pool.work();
    await environment.advance(30_000);
    expect(begun()).toBe(1);
    release();
    await environment.until(stopped);
    await environment.until(waiting.idle());
    expect([begun(), ...outcomes(other)]).toEqual([1]);
  });
});

describe("a long run announced by a live session that does not run the observer", () => {
  async function announced(options: Pick<TestOptions, "store" | "commit" | "oracle">, cluster?: TestCluster) {
    const environment = new TestEnvironment();
    const store = options.store!;
    const join = (observers: readonly Observer[]) =>
      start({ ...options, environment, observers, cluster: cluster?.member() });
    const other = await join([words]);
    other.pool.work();
    const db = await join([length]);
    await environment.advance(1_000);
    await environment.until(write(db));
    await environment.advance(1_000);
    const cell = { table: "documents", row: Buffer.from("a"), column: columnPath("contents") };
    const hint = hintAddress(hintPrefix("length"), cell);
    const [standing] = await hintsOf(store, "length");
    const state = { attempts: 1, notBefore: 0, runner: other.sessions.session };
    await writeHintState(store, hint, standing!.timestamp, state);
    const worker = db.pool.work();
    await environment.advance(3_000);
    expect(db.sessions.isLive(other.sessions.session)).toBe(true);
    expect(outcomes(db)).toEqual(["committed"]);
    await environment.until(worker.idle());
  }

  test("begins again if processes share the buckets", async () => {
    await announced({ store: memoryStore(), commit: "one-phase" });
  });

  test("begins again if processes claim the hints that they find", async () => {
    const counting = memoryStore().atomic!;
    const oracle = {
      next: (options?: { readonly signal?: AbortSignal | undefined }) => counting.next(options),
      latest: () => counting.counter(),
    };
    const store = memoryStore({ atomicBatches: false });
    await announced({ store, commit: "two-phase", oracle }, new TestCluster());
  });
});

const failing = observer("failing", documents.contents, () => Promise.reject(new Error("bad")), {
  attempts: 1,
});

test.each([
  ["commits", length, "length"],
  ["parks its change", failing, "park failing"],
])("a worker that stops gives up a run that %s during an outage of the store", async (_, run, during) => {
  const environment = new TestEnvironment();
  let isOut = false;
  const store = new Proxy(memoryStore({ environment }), {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (isOut) throw new StoreError("The store does not answer.", { retryable: true });
        return member.apply(target, args);
      };
    },
  });
  const hooks: CommitHooks = {
    async step(name, { label }, step) {
      if (name !== "commit-primary" || label !== during) return step();
      isOut = true;
      return "unknown" as never;
    },
  };
  const db = await start({ commit: "two-phase", store, environment, hooks, observers: [run] });
  const worker = db.pool.work();
  await environment.advance(500);
  await environment.until(write(db));
  await environment.advance(500);
  expect([isOut, db.pool.running]).toEqual([true, 1]);
  const stopped = worker.stop({ timeoutMs: 100 }).catch(() => undefined);
  await environment.advance(5_000);
  expect(db.pool.running).toBe(0);
  isOut = false;
  await stopped;
});
