import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { backoffDelay, type Environment, sleep, systemEnvironment, type Timer } from "./index.js";
import { machineName, thisMachine } from "./machine.js";

/** Time that advances only when the test moves it. */
class StillEnvironment implements Environment {
  at = 0;
  drawn = 0;
  readonly #timers = new Set<{ readonly due: number; readonly callback: () => void }>();

  now = () => this.at;
  monotonic = () => this.at;
  random = () => this.drawn;
  uniqueId = () => "id";
  processName = "test";
  isRunning = () => undefined;
  defer = (callback: () => void) => callback();
  setTimer = (callback: () => void, delayMs: number): Timer => {
    const timer = { due: this.at + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  };

  get timers(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    this.at += ms;
    for (const timer of [...this.#timers]) {
      if (timer.due > this.at) continue;
      this.#timers.delete(timer);
      timer.callback();
    }
  }
}

describe("sleep", () => {
  test("lasts as long as the environment's time says", async () => {
    const environment = new StillEnvironment();
    let awake = false;
    const sleeping = sleep(environment, 100).then(() => {
      awake = true;
    });
    environment.advance(99);
    await Promise.resolve();
    expect(awake).toBe(false);
    environment.advance(1);
    await sleeping;
    expect(awake).toBe(true);
  });

  test("ends at once when it is aborted, before or meanwhile, and leaves no timer", async () => {
    const environment = new StillEnvironment();
    const controller = new AbortController();
    const sleeping = sleep(environment, 100, controller.signal);
    controller.abort(new Error("enough"));
    const aborted = { code: "ABORTED", cause: new Error("enough") };
    await expect(sleeping).rejects.toMatchObject(aborted);
    await expect(sleep(environment, 100, controller.signal, "It")).rejects.toMatchObject(aborted);
    expect(environment.timers).toBe(0);
  });
});

describe("backoffDelay", () => {
  test("doubles up to the maximum, half of it random", () => {
    const environment = new StillEnvironment();
    const backoff = { initialMs: 10, maximumMs: 100 };
    environment.drawn = 0;
    expect([1, 2, 3, 4, 5, 500].map((attempt) => backoffDelay(environment, backoff, attempt))).toEqual([
      5, 10, 20, 40, 50, 50,
    ]);
    environment.drawn = 0.5;
    expect(backoffDelay(environment, backoff, 1)).toBe(7.5);
  });
});

describe("the system environment", () => {
  test("gives the system's time, and never goes back", () => {
    expect(Math.abs(systemEnvironment.now() - Date.now())).toBeLessThan(60_000);
    let last = systemEnvironment.monotonic();
    for (let round = 0; round < 1_000; round++) {
      const next = systemEnvironment.monotonic();
      expect(next).toBeGreaterThanOrEqual(last);
      last = next;
    }
  });

  describe("when the system's clock is set, or the machine has slept", () => {
    afterEach(() => {
      vi.useRealTimers();
    });

    test.each([8 * 3_600_000, -3_600_000, 3])("follows it by %d ms, and is not behind it", (jumpMs) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      const at = Math.ceil(systemEnvironment.now()) + jumpMs;
      vi.setSystemTime(at);
      for (let look = 0; look < 3; look++) {
        expect(systemEnvironment.now()).toBeGreaterThanOrEqual(at);
        // The test's clock is frozen, while the machine's clock continues.
        expect(systemEnvironment.now() - at).toBeLessThan(60_000);
      }
    });
  });

  test("a cancelled timer does not fire, and one with a very long delay not at once", async () => {
    let fired = 0;
    systemEnvironment.setTimer(() => fired++, 0).cancel();
    const long = systemEnvironment.setTimer(() => fired++, Number.MAX_SAFE_INTEGER);
    await new Promise<void>((resolve) => systemEnvironment.setTimer(resolve, 5));
    long.cancel();
    expect(fired).toBe(0);
  });

  test("knows whether a process of this machine runs, and returns undefined for other machines", async () => {
    expect(systemEnvironment.isRunning(systemEnvironment.processName)).toBe(true);
    const child = spawn(process.execPath, ["-e", ""]);
    const name = systemEnvironment.processName.replace(/\d+$/, String(child.pid));
    await once(child, "exit");
    expect(systemEnvironment.isRunning(name)).toBe(false);
    expect(systemEnvironment.isRunning("elsewhere.example/1")).toBeUndefined();
    // Signals to 0 and to negative numbers go to groups of processes.
    for (const id of ["0", "-1"])
      expect(systemEnvironment.isRunning(systemEnvironment.processName.replace(/\d+$/, id))).toBeUndefined();
    expect(systemEnvironment.isRunning(systemEnvironment.processName.replace(/\d+$/, "x"))).toBeUndefined();
  });

  test("machine names distinguish machines and containers that share a host name", () => {
    const facts = { hostname: "db", bootId: "one", processNamespace: "pid:[1]", addresses: ["aa", "bb"] };
    const name = machineName(facts);
    expect(name).toMatch(/^db\/[0-9a-f]{16}$/);
    expect(machineName({ ...facts, addresses: [] })).toBe(name);
    expect(machineName({ ...facts, bootId: "two" })).not.toBe(name);
    expect(machineName({ ...facts, processNamespace: "pid:[2]" })).not.toBe(name);
    // If one of the two facts is missing, the network addresses identify the machine.
    for (const missing of [{ bootId: undefined }, { processNamespace: undefined }]) {
      const fallback = machineName({ ...facts, ...missing });
      expect(machineName({ ...facts, ...missing, addresses: ["bb", "aa", "aa"] })).toBe(fallback);
      expect(machineName({ ...facts, ...missing, addresses: ["cc"] })).not.toBe(fallback);
    }
    expect(systemEnvironment.processName).toBe(`${machineName(thisMachine())}/${process.pid}`);
  });

  test("draws names that differ", () => {
    const names = new Set(Array.from({ length: 100 }, () => systemEnvironment.uniqueId()));
    expect(names.size).toBe(100);
  });
});
