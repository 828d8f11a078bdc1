import { describe, expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { documents, length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { sleep } from "../../environment/index.js";
import { memoryStore } from "../../store/memory/index.js";

/** An oracle for a store without a counter: the counter of another store. */
function separateOracle() {
  const counting = memoryStore().atomic!;
  return {
    next: (options?: { readonly signal?: AbortSignal | undefined }) => counting.next(options),
    latest: () => counting.counter(),
  };
}

describe("idle on a store of one-row mutations", () => {
  test("drain ends if the registry is read again each time", async () => {
    const environment = new TestEnvironment();
    const db = await openTest({
      store: memoryStore({ environment, atomicBatches: false }),
      environment,
      commit: "two-phase",
      oracle: separateOracle(),
      observers: [length],
      cacheMs: 0,
    });
    await environment.until(db.pool.drain());
    await db.transact((tx) => tx.set(documents.contents, "a", "abc"));
    await environment.until(db.pool.drain());
    expect(await db.transact((tx) => tx.get(documents.length, "a"))).toBe(3);
    await environment.until(db.close());
  });
});

describe("background work", () => {
  test("delays idle if it began before everything was done, but not if it began later", async () => {
    const environment = new TestEnvironment();
    const db = await openTest({ environment, observers: [length] });
    const { background } = db.context;
    let goesOn = true;
    let ended = 0;
    const goOn = async () => {
      await sleep(environment, 5);
      ended++;
      if (goesOn) background.track(goOn());
    };
    background.track(goOn());
    let isIdle = false;
    const idle = db.pool.idle().then(() => {
      isIdle = true;
    });
    await environment.advance(4);
    expect([isIdle, ended]).toEqual([false, 0]);
    await environment.advance(500);
    expect(isIdle).toBe(true);
    goesOn = false;
    await environment.until(idle);
    await environment.until(db.close());
  });

  test("no longer delays idle when the signal is aborted", async () => {
    const environment = new TestEnvironment();
    const db = await openTest({ environment, observers: [length] });
    let end = () => {};
    db.context.background.track(
      new Promise((resolve) => {
        end = resolve;
      }),
    );
    const controller = new AbortController();
    let refused: unknown;
    const idle = db.pool.idle({ signal: controller.signal }).catch((error: unknown) => {
      refused = error;
    });
    await environment.advance(500);
    expect(refused).toBeUndefined();
    controller.abort(new Error("enough"));
    await environment.settle();
    expect(refused).toMatchObject({ code: "ABORTED" });
    await idle;
    end();
    await environment.until(db.close());
  });
});
