import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { FailureRate } from "./failure-rate.js";

test("a failure that goes on is told every 10 s with the number of those between, another text after a second", () => {
  let now = 0;
  const rate = new FailureRate({ ...systemEnvironment, monotonic: () => now });
  const told: [number, string, number][] = [];
  const fail = (doing: string, text: string) => {
    const untold = rate.admit(doing, text);
    if (untold !== undefined) told.push([now, `${doing}: ${text}`, untold]);
  };
  for (; now < 25_000; now += 500) fail("renewing", "away");
  expect(told).toEqual([
    [0, "renewing: away", 0],
    [10_000, "renewing: away", 19],
    [20_000, "renewing: away", 19],
  ]);
  told.length = 0;
  fail("looking", "away");
  for (now = 25_000; now < 28_000; now += 500) fail("renewing", now % 1_000 === 0 ? "slow" : "away");
  expect(told).toEqual([
    [25_000, "looking: away", 0],
    [25_000, "renewing: slow", 9],
    [26_500, "renewing: away", 2],
  ]);
});

test("what it remembers is bounded", () => {
  const rate = new FailureRate({ ...systemEnvironment, monotonic: () => 0 });
  for (let name = 0; name < 1_000; name++) expect(rate.admit(`step ${name}`, "away")).toBe(0);
  expect(rate.admit("step 999", "away")).toBeUndefined();
  expect(rate.admit("step 0", "away")).toBe(0);
});
