import { expect, test } from "vitest";
import { SeededRandom } from "../../world/index.js";
import { faultKinds, networkFaults } from "./fault.js";
import { drawPlan, type Plan, type SimulatedStore, simulatedStores } from "./plan.js";

function plans(count: number, stores: readonly SimulatedStore[]): readonly Plan[] {
  return Array.from({ length: count }, (_, number) =>
    drawPlan(new SeededRandom(`plan ${number}`), {
      clients: 3,
      hasObservers: true,
      stores,
      faults: faultKinds,
      length: 1,
    }),
  );
}

function commitsOf(drawn: readonly Plan[]): ReadonlySet<string> {
  return new Set(drawn.map((plan) => [...new Set(plan.commits)].sort().join(" and ")));
}

test.each([
  ["lmdb", 100],
  ["server", 285],
] as const)(
  "of 2,000 runs, %s has about %i, and what the others draw does not depend on it",
  (kind, expected) => {
    const all = plans(2_000, simulatedStores);
    expect(Math.abs(all.filter(({ store }) => store === kind).length - expected)).toBeLessThan(60);
    const without = plans(
      2_000,
      simulatedStores.filter((each) => each !== kind),
    );
    for (const [index, plan] of all.entries()) if (plan.store !== kind) expect(plan).toEqual(without[index]);
  },
);

test("on a server processes commit in one phase, in two, and mixed, and every fault of the network happens", () => {
  const drawn = plans(200, ["server"]);
  expect(new Set(drawn.map(({ store }) => store))).toEqual(new Set(["server"]));
  expect(commitsOf(drawn)).toEqual(new Set(["auto", "two-phase", "auto and two-phase"]));
  for (const kind of networkFaults)
    expect(Math.max(...drawn.map(({ rates }) => rates[kind]))).toBeGreaterThan(0);
});

test("on LMDB processes commit in one phase, in two, and mixed, and no request is lost, repeated or late", () => {
  const drawn = plans(200, ["lmdb"]);
  expect(new Set(drawn.map(({ store }) => store))).toEqual(new Set(["lmdb"]));
  expect(commitsOf(drawn)).toEqual(new Set(["auto", "two-phase", "auto and two-phase"]));
  expect(new Set(drawn.map(({ durability }) => durability))).toEqual(new Set(["full", "none"]));
  for (const { rates, incidents } of drawn) {
    expect(rates).toMatchObject({ lostRequest: 0, lostAnswer: 0, late: 0, twice: 0 });
    expect(incidents.map(({ kind }) => kind)).not.toContain("cut");
  }
  const kinds = drawn.flatMap(({ incidents }) => incidents.map(({ kind }) => kind));
  expect(new Set(kinds)).toEqual(new Set(["stop", "restart", "pause", "clockJump"]));
  expect(Math.max(...drawn.map(({ rates }) => rates.slow))).toBeGreaterThan(0);
});
