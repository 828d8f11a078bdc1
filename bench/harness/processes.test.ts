import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { boundOf, describeScaled, isRight, overProcesses, type Round, scaledOf, timed } from "./processes.js";
import type { Use } from "./usage.js";

function roundOf(seconds: number, uses: readonly Partial<Use>[], more: Partial<Round> = {}): Round {
  const each = { seconds, cpuSeconds: 1.5, loopShare: 0.5, lockWaitShare: 0 };
  return { seconds, done: 100, uses: uses.map((use) => ({ ...each, ...use })), wrong: [], ...more };
}

test("one process and several take turns, and the factor is that of the times, round by round", async () => {
  const order: string[] = [];
  const seconds = { "1 1": 4, "2 1": 2, "1 2": 6, "2 2": 4 } as Record<string, number>;
  const [one, two] = await overProcesses({ processes: 2, rounds: 2 }, async (processes, round) => {
    order.push(`${processes} ${round}`);
    return roundOf(seconds[`${processes} ${round}`]!, Array(processes).fill({}));
  });
  expect(order).toEqual(["1 1", "2 1", "1 2", "2 2"]);
  expect(one!.factor.median).toBe(1);
  expect(two!.factor.median).toBe(1.75);
  expect(two!.perSecond.median).toBe(37.5);
  expect(two!.cpuSeconds.median).toBe(3);
});

test.each([
  ["other programs, so that the factor says nothing", roundOf(1, [{ cpuSeconds: 2 }], { othersShare: 0.3 })],
  ["all processors", roundOf(1, [{ cpuSeconds: 1.9 }])],
  ["all processors", roundOf(1, [{ cpuSeconds: 1 }], { serverCpuSeconds: 0.9 })],
  ["LMDB's write lock", roundOf(3, [{ lockWaitShare: 0.4 }, {}])],
  ["the busiest event loop", roundOf(3, [{ loopShare: 0.9 }, {}])],
  ["waiting: for flushes, and for the end", roundOf(3, [{}, {}])],
])("names the limiting resource: %s", (bound, round) => {
  expect(boundOf([round], 2)).toBe(bound);
});

test.skipIf(process.platform !== "linux")(
  "a server's processor time is not that of other programs",
  async () => {
    const burn =
      "const until = performance.now() + 300; while (performance.now() < until); process.stdin.resume()";
    const child = spawn(process.execPath, ["-e", `${burn}; console.log("done")`]);
    try {
      const done = once(child.stdout, "data");
      const work = async () => {
        await done;
        return [];
      };
      const [without, own] = await Promise.all([timed(0, work), timed(0, work, [child.pid!])]);
      expect(own.serverCpuSeconds).toBeGreaterThan(0);
      expect(own.othersShare!).toBeLessThan(without.othersShare!);
    } finally {
      child.kill();
    }
  },
);

test("one round with an error makes the whole measurement fail, and is reported", () => {
  const good = roundOf(1, [{}]);
  const bad = roundOf(1, [{}], { wrong: ["Account 1 is missing."] });
  expect(isRight([scaledOf(1, [good, good], [good, good])])).toBe(true);
  const figure = scaledOf(1, [good, bad], [good, good]);
  expect(isRight([figure])).toBe(false);
  expect(describeScaled("trade", figure)).toContain("WRONG: Account 1 is missing.");
});
