import { afterEach, describe, expect, test } from "vitest";
import { openTest, type TestDatabase, type TestOptions } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { StoreError, StoreFullError } from "../../errors/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { hintTable } from "../../transaction/index.js";
import { readHints } from "../hint/hint.js";
import { batchObserver, observer } from "../index.js";

const environment = new TestEnvironment();
const open: TestDatabase[] = [];
async function start(options: TestOptions): Promise<TestDatabase> {
  const db = await openTest({ environment, ...options });
  open.push(db);
  return db;
}
afterEach(async () => {
  for (const db of open.splice(0)) await environment.until(db.close());
});

describe.each(["one-phase", "two-phase"] as const)("%s", (commit) => {
  test.each([
    ["given up by stop", () => new StoreError("away", { retryable: true }), { timeoutMs: 100 }],
    ["refused by a full store", () => new StoreFullError("full"), {}],
  ] as const)("a long last attempt whose parking is %s does not count as a crash", async (_, fault, stop) => {
    const store = memoryStore({ environment });
    const releases: (() => void)[] = [];
    let begun = 0;
    const long = observer(
      "long",
      documents.contents,
      async () => {
        begun++;
        await new Promise<void>((resolve) => releases.push(resolve));
        throw new Error("no");
      },
      { attempts: 1 },
    );
    const one = await start({
      commit,
      store,
      observers: [long],
      hooks: {
        async step(name, info, run) {
          const isCommit = name === "one-phase-commit" || name === "prewrite";
          if (isCommit && info.label === "park long") throw fault();
          return run();
        },
      },
    });
    const worker = one.pool.work();
    await environment.advance(1_000);
    await one.transact((tx) => tx.set(documents.contents, "a", "x"));
    await environment.advance(1_500); // announced: { attempts: 1, runner }
    for (const each of releases.splice(0)) each();
    await environment.advance(20);
    await environment.until(worker.stop(stop));
    await environment.until(one.close());
    const { hints } = await readHints(store, { start: undefined, end: undefined }, 10);
    expect(hints[0]?.state).toEqual({ attempts: 0, notBefore: 0 });
    const two = await start({ commit, store, observers: [long] });
    two.pool.work();
    await environment.advance(3_000);
    expect(begun).toBe(2);
    for (const each of releases.splice(0)) each();
  });

  test("the changes of a long failed run do not count as crashes if the store refuses one write after it", async () => {
    const store = memoryStore({ environment });
    const { mutate } = store;
    let refused = 0;
    store.mutate = (mutation) => {
      if (mutation.table === hintTable && refused-- > 0) return Promise.reject(new StoreError("away"));
      return mutate.call(store, mutation);
    };
    const releases: (() => void)[] = [];
    const long = batchObserver("long", documents.contents, async () => {
      await new Promise<void>((resolve) => releases.push(resolve));
      throw new Error("no");
    });
    const db = await start({ commit, store, observers: [long] });
    const worker = db.pool.work();
    await environment.advance(1_000);
    await db.transact((tx) => {
      for (const row of ["a", "b", "c"]) tx.set(documents.contents, row, "x");
    });
    await environment.advance(1_500);
    const all = { start: undefined, end: undefined };
    const states = async () => (await readHints(store, all, 10)).hints.map(({ state }) => state);
    const announced = { attempts: 1, notBefore: 0, runner: db.sessions.session };
    expect(await states()).toEqual([announced, announced, announced]);
    refused = 1;
    releases.shift()!();
    await environment.advance(20);
    await environment.until(worker.stop({ timeoutMs: 100 }));
    await environment.until(db.close());
    const left = { attempts: 0, notBefore: 0 };
    expect(await states()).toEqual([left, left, left]);
  });
});
