import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { length } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import type { ProcessMeter } from "../../environment/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { putHint, systemCell } from "../../transaction/index.js";
import { Heartbeats } from "./heartbeats.js";
import { SessionRecords } from "./session-records.js";

/** A worker, and another process that reads the sessions each second. */
async function two(sender = new TestEnvironment()) {
  const environment = new TestEnvironment(sender.clock);
  const store = memoryStore({ environment });
  const one = await openTest({ store, environment: sender, observers: [length] });
  const other = await openTest({ store, environment, observers: [length] });
  const watch = other.pool.work();
  const worker = one.pool.work();
  await environment.advance(2_000);
  return { sender, environment, one, other, worker, watch };
}

test("a process that stops is silent, first with its record and then without", async () => {
  const { sender, environment, one, other, watch } = await two();
  const { session } = one.sessions;
  expect([...other.sessions.silent.keys()]).toEqual([]);
  const stoppedAt = environment.now();
  sender.die();
  await environment.advance(4_500);
  await other.sessions.list();
  const silent = other.sessions.silent.get(session);
  expect(silent).toMatchObject({ process: sender.processName, observers: { length: 1 } });
  expect(Math.abs(silent!.lastHeartbeatAt - stoppedAt)).toBeLessThan(1_500);
  await environment.advance(20_000);
  expect((await other.sessions.list()).has(session)).toBe(false);
  const gone = other.sessions.silent.get(session);
  expect(Math.abs(gone!.lastHeartbeatAt - stoppedAt)).toBeLessThan(2_500);
  await environment.advance(3_600_000);
  expect(other.sessions.silent.has(session)).toBe(false);
  await environment.until(watch.stop());
});

test("a process that ends in order is not silent", async () => {
  const { environment, one, other, worker, watch } = await two();
  await environment.until(worker.stop());
  await environment.advance(10_000);
  expect((await other.sessions.list()).has(one.sessions.session)).toBe(false);
  expect([...other.sessions.silent.keys()]).toEqual([]);
  await environment.until(watch.stop());
});

test("heartbeats carry vitals while a worker runs, and the meter ends with it", async () => {
  let reads = 0;
  let isEnded = false;
  class Measured extends TestEnvironment {
    readonly meter = (): ProcessMeter => ({
      read: () => ({ upMs: ++reads, cpuShare: 0.5, loopDelayMs: 3, memoryBytes: 1_000 }),
      end: () => {
        isEnded = true;
      },
    });
  }
  const { environment, one, other, worker, watch } = await two(new Measured());
  const { vitals } = (await other.sessions.list()).get(one.sessions.session)!;
  expect(vitals).toMatchObject({ cpuShare: 0.5, loopDelayMs: 3, memoryBytes: 1_000 });
  expect(vitals!.version).toMatch(/./);
  expect(reads).toBeGreaterThanOrEqual(2);
  expect(isEnded).toBe(false);
  await environment.until(worker.stop());
  expect(isEnded).toBe(true);
  await environment.until(watch.stop());
});

test("a session lives even if its vitals cannot be read", async () => {
  const store = memoryStore();
  const errors: unknown[] = [];
  const records = new SessionRecords(store, (_, error) => errors.push(error));
  const record = { observers: { length: 1 }, expires: 5_000, process: "p" };
  const stored = Buffer.from(JSON.stringify({ ...record, vitals: { version: 7 } }));
  const { table, row } = systemCell("session/s", "state");
  await store.mutate({ table, row, guards: [], mutations: [putHint(Buffer.from("state"), 1, stored)] });
  const all: unknown[] = [];
  for await (const each of records.all()) all.push(each);
  expect(all).toEqual([["s", record]]);
  expect(errors).toEqual([]);
});

test("a clock's offset is that of the heartbeat that was read soonest after it was sent", () => {
  const heartbeats = new Heartbeats();
  const offsets: (number | undefined)[] = [];
  for (const [index, delayMs] of [900, 400, 100, 700, 950].entries()) {
    heartbeats.see("s", index, index * 1_000, 12_000 - delayMs);
    offsets.push(heartbeats.clockOffsetMs("s"));
  }
  expect(offsets).toEqual([undefined, undefined, undefined, 11_900, 11_900]);
  expect(heartbeats.clockOffsetMs("unknown")).toBeUndefined();
});
