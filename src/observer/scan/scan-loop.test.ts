import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { sleep } from "../../environment/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { hintTable } from "../../transaction/index.js";
import { ScanLoop } from "./scan-loop.js";

/** A store that other processes may write to, and that takes `lookMs` for a read of the hints. */
function slowStore(environment: TestEnvironment, lookMs: number) {
  const store = memoryStore({ environment });
  const counted = { looks: 0 };
  const readRange: RowStore["readRange"] = async (read, options) => {
    if (read.table === hintTable) {
      counted.looks++;
      await sleep(environment, lookMs);
    }
    return store.readRange(read, options);
  };
  const capabilities = { ...store.capabilities, shared: true };
  const shared = new Proxy(store, {
    get(target, property) {
      if (property === "capabilities") return capabilities;
      if (property === "readRange") return readRange;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { store: shared, counted };
}

test("a worker pauses four times as long as it looked for hints, even if others commit all the time", async () => {
  const environment = new TestEnvironment();
  const { store, counted } = slowStore(environment, 200);
  const db = await openTest({ store, environment, observers: [length] });
  const worker = db.pool.work();
  await environment.advance(1_000);
  counted.looks = 0;
  for (let commit = 0; commit < 500; commit++) {
    await db.context.oracle.next();
    await environment.advance(10);
  }
  expect(counted.looks).toBeGreaterThanOrEqual(4);
  expect(counted.looks).toBeLessThanOrEqual(6);
  await environment.until(worker.stop());
  await environment.until(db.close());
});

test("a worker that is woken soon scans right after its pause, or at once without one", async () => {
  const environment = new TestEnvironment();
  const db = await openTest({ environment, observers: [length] });
  const scans: number[] = [];
  let lastsMs = 0;
  const scanner = {
    observer: length,
    isUnfinished: false,
    async scan() {
      scans.push(environment.monotonic());
      await sleep(environment, lastsMs);
      return 0;
    },
  };
  const loop = new ScanLoop(db.registry, db.context.environment, [scanner], () => 1);
  loop.wakeSoon();
  await environment.advance(0);
  loop.wakeSoon();
  await environment.advance(0);
  expect(scans).toEqual([0, 0]);
  lastsMs = 100;
  loop.wake();
  await environment.advance(50);
  loop.wakeSoon();
  await environment.advance(60);
  loop.wakeSoon();
  await environment.advance(350);
  expect(scans).toEqual([0, 0, 0]);
  await environment.advance(40);
  expect(scans).toEqual([0, 0, 0, 500]);
  const stopped = loop.stop();
  await environment.until(stopped);
  loop.wakeSoon();
  await environment.advance(5_000);
  expect(scans).toHaveLength(4);
  await db.close();
});
