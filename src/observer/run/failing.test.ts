import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { databasesOf } from "../../../test/support/observer/started.js";
import { StoreFullError } from "../../errors/index.js";
import { codec, table, text } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { listParked, listPending, observer, retryParked } from "../index.js";

const start = databasesOf({}, { mayFail: true });

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const quickly = { initialMs: 1, maximumMs: 2 };

describe.each(["one-phase", "two-phase"] as const)("observers that fail, committing in %s", (commit) => {
  test("a run that throws is repeated with backoff, and its writes stay invisible", async () => {
    let runs = 0;
    const failing = observer(
      "failing",
      documents.contents,
      (tx, { row }) => {
        runs++;
        tx.set(documents.length, row, runs);
        if (runs < 3) throw new Error("not yet");
      },
      { backoff: quickly },
    );
    const db = await start({ commit, observers: [failing] });
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    await db.pool.drain();
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
    expect(db.runs.map((run) => [run.outcome, run.attempts])).toEqual([
      ["failed", 1],
      ["failed", 2],
      ["committed", 2],
    ]);
  });

  test("the wait grows, is kept in the hint, and is shown", async () => {
    const environment = new TestEnvironment();
    const failing = observer(
      "failing",
      documents.contents,
      () => {
        throw new Error("no luck");
      },
      { attempts: 3, backoff: { initialMs: 1_000, maximumMs: 1_500 } },
    );
    const db = await start({ commit, environment, observers: [failing] });
    const worker = db.pool.work();
    await environment.settle();
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    await environment.settle();
    expect(db.runs).toHaveLength(1);
    const [pending] = await all(listPending(db.registry));
    expect(pending).toMatchObject({
      observer: "failing",
      table: "documents",
      row: "a",
      column: "contents",
      qualifier: undefined,
      attempts: 1,
      lastError: "Error: no luck",
    });
    const waitMs = pending!.notBefore!.getTime() - environment.now();
    expect(waitMs).toBeGreaterThan(450);
    expect(waitMs).toBeLessThanOrEqual(1_000);
    await environment.advance(waitMs - 50);
    expect(db.runs).toHaveLength(1);
    await environment.advance(100);
    expect(db.runs).toHaveLength(2);
    await environment.until(worker.idle());
    expect(db.runs.map((run) => run.outcome)).toEqual(["failed", "failed", "failed", "parked"]);
    await environment.until(worker.stop());
  });

  test("another session respects the wait that is in the hint", async () => {
    const environment = new TestEnvironment();
    let fails = true;
    const failing = observer(
      "failing",
      documents.contents,
      () => {
        if (fails) throw new Error("no luck");
      },
      { backoff: { initialMs: 10_000, maximumMs: 10_000 } },
    );
    const first = await start({ commit, environment, observers: [failing] });
    const worker = first.pool.work();
    await environment.settle();
    await first.transact((tx) => tx.set(documents.contents, "a", "x"));
    await environment.settle();
    await environment.until(worker.stop());
    fails = false;
    const second = await start({ commit, environment, store: first.store, observers: [failing] });
    const other = second.pool.work();
    await environment.advance(4_000);
    expect(second.runs).toEqual([]);
    await environment.advance(8_000);
    expect(second.runs.map((run) => [run.outcome, run.attempts])).toEqual([["committed", 1]]);
    await environment.until(other.stop());
  });

  test("a value that its codec cannot read is parked, not repeated forever", async () => {
    const strict = codec<string>({
      encode: (value) => Buffer.from(value),
      decode: (bytes) => {
        if (bytes.length > 3) throw new Error("too long to read");
        return Buffer.from(bytes).toString();
      },
    });
    const notes = table("notes", { body: strict, copy: text() });
    const copying = observer("copying", notes.body, (tx, { row, value }) => tx.set(notes.copy, row, value!), {
      attempts: 2,
      backoff: quickly,
    });
    const db = await start({ commit, observers: [copying] });
    await db.transact((tx) => tx.set(notes.body, "a", "unreadable"));
    await db.pool.drain();
    const [parked] = await all(listParked(db.registry));
    expect(parked!.error.message).toContain("too long to read");
  });

  test("any thrown value is kept, with a bounded size", async () => {
    const thrown: unknown[] = [
      null,
      "words",
      {
        toString: () => {
          throw new Error("never");
        },
      },
      new Error("x".repeat(100_000)),
      revokedProxy(),
      {
        [inspect.custom]: () => {
          throw new Error("never");
        },
      },
    ];
    const failing = observer(
      "failing",
      documents.contents,
      (_tx, { row }) => {
        throw thrown[Number(row)];
      },
      { attempts: 1 },
    );
    const db = await start({ commit, observers: [failing] });
    await db.transact((tx) => {
      for (const [index] of thrown.entries()) tx.set(documents.contents, String(index), "x");
    });
    await db.pool.drain();
    const errors = (await all(listParked(db.registry))).map((parked) => parked.error);
    expect(errors.map((error) => error.message.slice(0, 20))).toEqual([
      "null",
      "words",
      "{ toString: [Functio",
      "x".repeat(20),
      "The thrown value can",
      "The thrown value can",
    ]);
    expect(errors[3]!.message.length).toBeLessThan(3_000);
  });

  test("an observer that ends its transaction itself gets an error", async () => {
    const ending = observer("ending", documents.contents, (tx) => tx.rollback(), { attempts: 1 });
    const db = await start({ commit, observers: [ending] });
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    await db.pool.drain();
    const [parked] = await all(listParked(db.registry));
    expect(parked!.error.message).toContain("committed or rolled back the transaction of its run");
  });

  test("an observer that makes itself due forever is parked, and `retry` gives it as many runs again", async () => {
    let runs = 0;
    const endless = observer("endless", documents.words, (tx, { row, value }) => {
      runs++;
      tx.set(documents.words, row, (value ?? 0) + 1);
    });
    const db = await start({ commit, observers: [endless] });
    await db.transact((tx) => tx.set(documents.words, "a", 0));
    await db.pool.drain();
    expect(runs).toBe(1_000);
    const [parked] = await all(listParked(db.registry));
    expect(parked!.error.message).toContain(
      'Observer "endless" has written documents/a/words, which it watches',
    );
    await retryParked(db.registry, parked!);
    await db.pool.drain();
    expect(runs).toBe(2_000);
    expect(await all(listParked(db.registry))).toHaveLength(1);
  });

  test("an observer that notifies its own signal forever is parked", async () => {
    let runs = 0;
    const endless = observer("endless", documents.poke, (tx, { row }) => {
      runs++;
      tx.notify(documents.poke, row);
    });
    const db = await start({ commit, observers: [endless] });
    await db.transact((tx) => tx.notify(documents.poke, "a"));
    await db.pool.drain();
    expect(runs).toBe(1_000);
    expect(await all(listParked(db.registry))).toHaveLength(1);
  });

  test("a run that does not finish is fenced and counted, and cannot write afterwards", async () => {
    const environment = new TestEnvironment();
    let resume = () => {};
    const late: unknown[] = [];
    const signals: unknown[] = [];
    let runs = 0;
    const hanging = observer(
      "hanging",
      documents.contents,
      async (tx, { row, signal }) => {
        if (++runs > 1) return tx.set(documents.length, row, 2);
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
        signals.push(signal.aborted);
        try {
          tx.set(documents.length, row, 1);
        } catch (error) {
          late.push(error);
        }
      },
      { timeoutMs: 5_000, backoff: quickly },
    );
    const db = await start({ commit, environment, observers: [hanging] });
    const worker = db.pool.work();
    await environment.settle();
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    await environment.advance(4_900);
    expect(db.runs).toEqual([]);
    const [pending] = await all(listPending(db.registry));
    // A long run is counted while it runs.
    expect(pending!.attempts).toBe(1);
    await environment.advance(200);
    await environment.until(worker.idle());
    expect(db.runs.map((run) => [run.outcome, run.attempts])).toEqual([
      ["timeout", 1],
      ["committed", 1],
    ]);
    resume();
    await environment.settle();
    expect(signals).toEqual([true]);
    expect(late).toHaveLength(1);
    expect(late[0]).toMatchObject({ code: "OBSERVER" });
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(2);
    await environment.until(worker.stop());
  });

  test("a store that fails is not the observer's fault", async () => {
    const environment = new TestEnvironment();
    const store = memoryStore({ environment });
    let failing = false;
    const observed = observer(
      "observed",
      documents.contents,
      (tx, { row }) => tx.set(documents.length, row, 1),
      {
        attempts: 1,
      },
    );
    const db = await start({
      commit,
      environment,
      store,
      observers: [observed],
      hooks: {
        async step(name, info, run) {
          const isRun = info.label === "observed" && (name === "one-phase-commit" || name === "prewrite");
          if (failing && isRun) {
            throw new StoreFullError("no space left");
          }
          return run();
        },
      },
    });
    failing = true;
    const worker = db.pool.work();
    await environment.settle();
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    await environment.advance(1_000);
    expect(db.runs.length).toBeGreaterThan(1);
    expect(new Set(db.runs.map((run) => run.outcome))).toEqual(new Set(["failed"]));
    failing = false;
    await environment.until(worker.idle());
    expect(db.runs.at(-1)!.outcome).toBe("committed");
    expect(await all(listParked(db.registry))).toEqual([]);
    await environment.until(worker.stop());
  });
});

/** An object that throws whenever it is inspected. */
function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
