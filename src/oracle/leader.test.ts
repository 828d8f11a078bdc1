import { describe, expect, test } from "vitest";
import { TestMachine, TestWorld } from "../../test/support/oracle/world.js";
import { LimitExceededError, NotLeaderError } from "../errors/index.js";
import { OracleLeader } from "./leader.js";
import type { OracleLeaderOptions } from "./leader-options.js";
import { lastTimestamp } from "./range.js";

function candidate(machine: TestMachine, options: Partial<OracleLeaderOptions> = {}): OracleLeader {
  return new OracleLeader({ store: machine.store, environment: machine, name: "a", ...options });
}

async function leading(machine: TestMachine, options: Partial<OracleLeaderOptions> = {}) {
  const leader = candidate(machine, options);
  leader.start();
  await machine.world.when(() => leader.status.role === "leading");
  return leader;
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("an oracle's leader", () => {
  test("gives each timestamp once, near the wall clock, as single timestamps and as ranges", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const leader = await leading(machine);
    const nowUs = machine.now() * 1_000;
    expect(await leader.next()).toEqual({ first: nowUs, count: 1 });
    expect(await leader.next(10)).toEqual({ first: nowUs + 1, count: 10 });
    expect(await leader.next()).toEqual({ first: nowUs + 11, count: 1 });
    expect(leader.latest()).toBe(nowUs + 11);
    await world.advance(5);
    expect(await leader.next()).toEqual({ first: nowUs + 5_000, count: 1 });
    expect(leader.status).toEqual({ role: "leading", epoch: 1, leader: "a" });
    await world.until(leader.stop());
  });

  test("is the leader as long as it renews, and a standby names it", async () => {
    const world = new TestWorld();
    const a = await leading(new TestMachine(world));
    const b = candidate(new TestMachine(world), { name: "b" });
    b.start();
    for (let passed = 0; passed < 60; passed++) {
      await world.advance(1_000);
      await a.next();
    }
    expect(a.status.epoch).toBe(1);
    expect(b.status).toEqual({ role: "standby", epoch: 1, leader: "a" });
    expect(await failureOf(b.next())).toMatchObject({ code: "NOT_LEADER", retryable: true, leader: "a" });
    expect(() => b.latest()).toThrow(NotLeaderError);
    await world.until(Promise.all([a.stop(), b.stop()]));
  });

  test("that stops lets a standby take over at its next look, and the new one continues above", async () => {
    const world = new TestWorld();
    const a = await leading(new TestMachine(world));
    const b = candidate(new TestMachine(world), { name: "b" });
    b.start();
    await world.settle();
    const { first } = await a.next();
    const stopping = a.stop();
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    await world.until(stopping);
    expect(a.status.role).toBe("stopped");
    await world.when(() => b.status.role === "leading", 3_000);
    expect(b.latest()).toBe(first);
    expect((await b.next()).first).toBeGreaterThan(first);
    expect(() => a.start()).toThrow(/was stopped/);
    await world.until(b.stop());
  });

  test("that dies is waited out for a whole lease on the standby's own clock, and the next one jumps ahead", async () => {
    const world = new TestWorld();
    const dead = new TestMachine(world);
    const a = await leading(dead, { windowMs: 60_000 });
    const given = await a.next(50_000);
    dead.suspend();
    // A wall clock that is a day behind or ahead changes nothing.
    const b = candidate(new TestMachine(world, { offsetMs: -100_000_000 }), { name: "b" });
    b.start();
    await world.advance(10_000);
    expect(b.status.role).toBe("standby");
    await world.advance(600);
    expect(b.status).toMatchObject({ role: "leading", epoch: 2 });
    expect((await b.next()).first).toBeGreaterThan(given.first + given.count - 1);
    await world.until(b.stop());
  });

  test("that renewed in the meantime is waited out again", async () => {
    const world = new TestWorld();
    const first = new TestMachine(world);
    const a = await leading(first);
    const b = candidate(new TestMachine(world), { name: "b" });
    b.start();
    await world.advance(9_000);
    first.suspend();
    await world.advance(8_000);
    expect(b.status.role).toBe("standby");
    await world.advance(4_000);
    expect(b.status.role).toBe("leading");
    first.resume();
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    await world.until(Promise.all([a.stop(), b.stop()]));
    expect(b.status.role).toBe("stopped");
  });

  test("that was paused beyond its lease refuses, whether another leads or not", async () => {
    const world = new TestWorld();
    const slow = new TestMachine(world);
    const a = await leading(slow);
    await a.next();
    slow.suspend();
    await world.advance(10_001);
    slow.resume();
    // The process is awake, and a caller asks before any of its timers has run.
    const failure = await failureOf(a.next());
    expect(failure).toBeInstanceOf(NotLeaderError);
    expect(() => a.latest()).toThrow(/lease has expired/);
    // No other candidate has taken the row, so the leader renews and keeps its epoch.
    await world.advance(100);
    expect(a.status.epoch).toBe(1);
    await a.next();

    slow.suspend();
    const b = await leading(new TestMachine(world), { name: "b" });
    const { first } = await b.next();
    slow.resume();
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    await world.advance(100);
    expect(a.status).toEqual({ role: "standby", epoch: 2, leader: "b" });
    expect((await b.next()).first).toBeGreaterThan(first);
    await world.until(Promise.all([a.stop(), b.stop()]));
  });

  test("that is paused between reading the lease and taking a timestamp refuses", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine);
    const [now, monotonic] = [machine.now.bind(machine), machine.monotonic.bind(machine)];
    let looks = 0;
    let pausedMs = 0;
    machine.now = () => {
      // The wall clock follows the monotonic one.
      if (++looks === 2) pausedMs = 20_000;
      return now();
    };
    machine.monotonic = () => monotonic() + pausedMs;
    machine.setClock(-30_000);
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    expect(looks).toBeGreaterThan(2);
    await world.until(a.stop());
  });

  test("counts its lease from before the request, not from the answer", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine);
    machine.latency = () => 1_000;
    machine.fates = ["done", ...Array.from({ length: 1_000 }, () => "request-lost" as const)];
    await world.advance(12_000);
    await a.next();
    await world.advance(600);
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    await world.until(a.stop());
  });

  test("whose monotonic clock stopped with the machine refuses because of its wall clock", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine);
    await a.next();
    machine.setClock(10_000);
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    await world.settle();
    await a.next();
    expect(a.status.epoch).toBe(1);
    await world.until(a.stop());
  });

  test("only counts on if wall clocks jump back or show nothing", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine);
    const { first } = await a.next();
    machine.setClock(-86_400_000);
    expect((await a.next()).first).toBe(first + 1);
    machine.now = () => Number.NaN;
    await world.advance(5_000);
    machine.now = () => world.passedMs - 5_000_000;
    expect((await a.next()).first).toBe(first + 2);
    await world.until(a.stop());
    const b = await leading(new TestMachine(world, { offsetMs: 1_000 - world.now() }), { name: "b" });
    expect((await b.next()).first).toBe(first + 3);
    await world.until(b.stop());
  });

  test("is one of many that race for a free row", async () => {
    const world = new TestWorld(7);
    const racing = Array.from({ length: 8 }, (_, index) => {
      const machine = new TestMachine(world);
      machine.latency = () => world.random() * 20;
      const leader = candidate(machine, { name: `candidate ${index}` });
      leader.start();
      return leader;
    });
    await world.advance(1_000);
    const winners = racing.filter((leader) => leader.status.role === "leading");
    expect(winners).toHaveLength(1);
    expect(new Set(racing.map((leader) => leader.status.leader)).size).toBe(1);
    expect(racing.every((leader) => leader.status.epoch === 1)).toBe(true);
    await world.until(Promise.all(racing.map((leader) => leader.stop())));
  });

  test("does not lose its lease early to a clock that runs faster by the allowed drift", async () => {
    const world = new TestWorld();
    const slow = new TestMachine(world, { rate: 0.96 });
    const a = await leading(slow);
    const b = candidate(new TestMachine(world), { name: "b", maximumDrift: 0.05 });
    b.start();
    await world.settle();
    // From now on the store receives none of the requests of `slow`, so `a` relies on its last
    // lease until that lease ends.
    slow.fates = Array.from({ length: 1_000 }, () => "request-lost");
    let lastByA = 0;
    let firstByB: number | undefined;
    for (let passed = 0; passed < 14_000 && firstByB === undefined; passed += 50) {
      await world.advance(50);
      const byA = await a.next().catch(() => undefined);
      if (byA !== undefined) lastByA = world.passedMs;
      if (b.status.role === "leading") firstByB = world.passedMs;
    }
    expect(lastByA).toBeGreaterThan(10_000);
    expect(firstByB).toBeGreaterThan(lastByA);
    await world.until(Promise.all([a.stop(), b.stop()]));
  });
});

describe("the window", () => {
  test("makes callers wait if it is full until its mark is saved, and serves them in order", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine, { windowMs: 1 });
    machine.latency = () => 10;
    const start = await a.next(1_000);
    let served = 0;
    const waiting = [500, 300, 1_000, 1].map(async (count) => {
      const range = await a.next(count);
      served++;
      return range;
    });
    await world.settle();
    expect(served).toBe(0);
    const ranges = await world.until(Promise.all(waiting));
    let above = start.first + 999;
    for (const { first, count } of ranges) {
      expect(first).toBeGreaterThan(above);
      above = first + count - 1;
    }
    await world.until(a.stop());
  });

  test("is raised before it runs out, so that callers do not wait under usual load", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine, { windowMs: 100 });
    for (let round = 0; round < 100; round++) {
      let isDone = false;
      const taken = a.next(30_000).then(() => {
        isDone = true;
      });
      await Promise.resolve();
      await Promise.resolve();
      expect(isDone).toBe(true);
      await taken;
      await world.settle();
    }
    // The window is ahead of the clock, and the mark is at or above every timestamp given.
    expect(a.latest()).toBeGreaterThan(machine.now() * 1_000 + 2_900_000);
    machine.suspend();
    const b = await leading(new TestMachine(world), { name: "b" });
    expect((await b.next()).first).toBeGreaterThan(a.status.epoch === 1 ? 1_700_000_002_900_000 : 0);
    await world.until(b.stop());
  });

  test("limits the waiting callers, which may leave, and are refused when the leader ends", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine, { windowMs: 1, maxWaiting: 2 });
    machine.fates = Array.from({ length: 100 }, () => "silent");
    await a.next(1_000);
    await a.next(1);
    const leaving = new AbortController();
    const first = failureOf(a.next(1, { signal: leaving.signal }));
    const second = failureOf(a.next(1));
    expect(await failureOf(a.next(1))).toMatchObject({ code: "ORACLE_UNAVAILABLE" });
    leaving.abort();
    expect(await first).toMatchObject({ code: "ABORTED" });
    expect(await failureOf(a.next(1, { signal: AbortSignal.abort() }))).toMatchObject({ code: "ABORTED" });
    const third = failureOf(a.next(1));
    const stopping = a.stop();
    expect(await second).toBeInstanceOf(NotLeaderError);
    expect(await third).toBeInstanceOf(NotLeaderError);
    await world.until(stopping);
  });

  test("makes no caller wait longer than the lease", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world);
    const a = await leading(machine, { windowMs: 1 });
    machine.fates = Array.from({ length: 10_000 }, () => "request-lost");
    await a.next(1_000);
    await a.next(1);
    const failure = await world.until(failureOf(a.next()), { maxMs: 12_000 });
    expect(failure).toBeInstanceOf(NotLeaderError);
    machine.fates = [];
    await world.until(a.stop());
  });

  test("refuses near the end of the safe integers, and gives no timestamp beyond", async () => {
    const world = new TestWorld();
    const machine = new TestMachine(world, { offsetMs: (lastTimestamp - 5) / 1_000 - world.now() });
    const a = await leading(machine);
    const { first } = await a.next();
    expect(first).toBeLessThanOrEqual(lastTimestamp);
    expect(await failureOf(a.next(1_000))).toBeInstanceOf(LimitExceededError);
    while ((await failureOf(a.next())) === undefined);
    expect(a.latest()).toBeLessThanOrEqual(lastTimestamp);
    expect(await failureOf(a.next())).toMatchObject({ code: "LIMIT_EXCEEDED" });
    machine.suspend();
    const b = await leading(new TestMachine(world), { name: "b" });
    expect(await failureOf(b.next())).toMatchObject({ code: "LIMIT_EXCEEDED" });
    await world.until(b.stop());
  });
});

describe("invalid options", () => {
  test.each([
    { name: "" },
    { name: 7 as unknown as string },
    { name: "x".repeat(1_001) },
    { leaseMs: 0 },
    { leaseMs: Number.NaN },
    { renewEveryMs: 10_000 },
    { lookEveryMs: 0 },
    { windowMs: 0 },
    { windowMs: 1, maxAtOnce: 1_001 },
    { maximumDrift: -1 },
    { requestTimeoutMs: 0 },
    { maxWaiting: 0.5 },
  ])("%o", (options) => {
    const machine = new TestMachine(new TestWorld());
    expect(() => candidate(machine, options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  test("counts of timestamps", async () => {
    const a = candidate(new TestMachine(new TestWorld()));
    for (const count of [0, -1, 1.5, Number.NaN]) {
      expect(await failureOf(a.next(count))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(await failureOf(a.next(100_001))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await failureOf(a.next())).toBeInstanceOf(NotLeaderError);
    await a.stop();
  });
});
