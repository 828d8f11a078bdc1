import { describe, expect, test } from "vitest";
import { TestClock } from "./index.js";

describe("a process of a test", () => {
  test("shows the clock's time on its own clocks", async () => {
    const clock = new TestClock({ startMs: 1_000 });
    const [right, ahead] = [clock.process(), clock.process({ offsetMs: 500, rate: 2 })];
    expect([right.now(), right.monotonic()]).toEqual([1_000, 0]);
    expect([ahead.now(), ahead.monotonic()]).toEqual([1_500, 0]);
    await clock.advance(100);
    expect([right.now(), right.monotonic()]).toEqual([1_100, 100]);
    expect([ahead.now(), ahead.monotonic()]).toEqual([1_700, 200]);
    ahead.setClock(-2_000);
    expect([ahead.now(), ahead.monotonic()]).toEqual([-300, 200]);
  });

  test("a fast clock's timers fire early", async () => {
    const clock = new TestClock();
    const firedAt: number[] = [];
    clock.process({ rate: 2 }).setTimer(() => firedAt.push(clock.passedMs), 100);
    clock.process().setTimer(() => firedAt.push(clock.passedMs), 100);
    await clock.advance(1_000);
    expect(firedAt).toEqual([50, 100]);
  });

  test("draws by its seed, each process differently", () => {
    const drawn = (seed: string) => {
      const clock = new TestClock({ seed });
      const [a, b] = [clock.process(), clock.process()];
      return [a.random(), a.random(), b.random()];
    };
    expect(drawn("7")).toEqual(drawn("7"));
    expect(drawn("7")).not.toEqual(drawn("8"));
    expect(new Set(drawn("7")).size).toBe(3);
    const process = new TestClock().process({ name: "p" });
    expect([process.uniqueId(), process.uniqueId()]).toEqual(["p-1", "p-2"]);
  });

  test("knows whether another process runs, on one machine", () => {
    const clock = new TestClock({ oneMachine: true });
    const [a, b] = [clock.process(), clock.process()];
    expect(a.isRunning(b.processName)).toBe(true);
    b.suspend();
    expect(a.isRunning(b.processName)).toBe(true);
    b.die();
    expect(a.isRunning(b.processName)).toBe(false);
    expect(a.isRunning("elsewhere")).toBeUndefined();
    expect(new TestClock().process().isRunning("process-1")).toBeUndefined();
  });

  test("does nothing while it is suspended, and runs due timers when it continues", async () => {
    const clock = new TestClock();
    const process = clock.process();
    const log: string[] = [];
    process.suspend();
    process.setTimer(() => log.push("timer"), 10);
    process.defer(() => log.push("deferred"));
    void process.turn().then(() => log.push("turn"));
    await clock.advance(100);
    expect(log).toEqual([]);
    process.resume();
    await clock.advance(0);
    expect(log.toSorted()).toEqual(["deferred", "timer", "turn"]);
    expect(clock.passedMs).toBe(100);
  });

  test("does nothing any more when it is dead", async () => {
    const clock = new TestClock();
    const process = clock.process();
    const log: string[] = [];
    process.setTimer(() => log.push("before"), 10);
    process.defer(() => log.push("deferred"));
    process.die();
    process.setTimer(() => log.push("after"), 10);
    process.defer(() => log.push("deferred after"));
    void process.turn().then(() => log.push("turn"));
    process.resume();
    await clock.advance(100);
    expect(log).toEqual([]);
    expect(process.isDead).toBe(true);
  });
});
