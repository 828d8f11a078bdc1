import { expect, test } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { FailureRate } from "./failure-rate.js";

test("a repeated failure is logged every 10 s with the number of omitted ones, another text after a second", () => {
  let now = 0;
  const rate = new FailureRate({ ...systemEnvironment, monotonic: () => now });
  const reported: [number, string, number][] = [];
  const fail = (doing: string, text: string) => {
    const suppressed = rate.admit(doing, text);
    if (suppressed !== undefined) reported.push([now, `${doing}: ${text}`, suppressed]);
  };
  for (; now < 25_000; now += 500) fail("renewing", "away");
  expect(reported).toEqual([
    [0, "renewing: away", 0],
    [10_000, "renewing: away", 19],
    [20_000, "renewing: away", 19],
  ]);
  reported.length = 0;
  fail("looking", "away");
  for (now = 25_000; now < 28_000; now += 500) fail("renewing", now % 1_000 === 0 ? "slow" : "away");
  expect(reported).toEqual([
    [25_000, "looking: away", 0],
    [25_000, "renewing: slow", 9],
    [26_500, "renewing: away", 2],
  ]);
});

test("its memory is bounded", () => {
  const rate = new FailureRate({ ...systemEnvironment, monotonic: () => 0 });
  for (let name = 0; name < 1_000; name++) expect(rate.admit(`step ${name}`, "away")).toBe(0);
  expect(rate.admit("step 999", "away")).toBeUndefined();
  expect(rate.admit("step 0", "away")).toBe(0);
});
