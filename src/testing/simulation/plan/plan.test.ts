import { expect, test } from "vitest";
import { SeededRandom } from "../../world/index.js";
import { faultKinds } from "./fault.js";
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

test("about one run in 20 is on LMDB, and what the others draw does not depend on it", () => {
  const all = plans(2_000, simulatedStores);
  const onLmdb = all.filter(({ store }) => store === "lmdb").length;
  expect(onLmdb).toBeGreaterThan(60);
  expect(onLmdb).toBeLessThan(140);
  const without = plans(
    2_000,
    simulatedStores.filter((kind) => kind !== "lmdb"),
  );
  for (const [index, plan] of all.entries()) if (plan.store !== "lmdb") expect(plan).toEqual(without[index]);
});

test("on LMDB processes commit in one phase, in two, and mixed, and no request is lost, repeated or late", () => {
  const drawn = plans(200, ["lmdb"]);
  expect(new Set(drawn.map(({ store }) => store))).toEqual(new Set(["lmdb"]));
  const commits = drawn.map((plan) => [...new Set(plan.commits)].sort().join(" and "));
  expect(new Set(commits)).toEqual(new Set(["auto", "two-phase", "auto and two-phase"]));
  expect(new Set(drawn.map(({ durability }) => durability))).toEqual(new Set(["full", "none"]));
  for (const { rates, incidents } of drawn) {
    expect(rates).toMatchObject({ lostRequest: 0, lostAnswer: 0, late: 0, twice: 0 });
    expect(incidents.map(({ kind }) => kind)).not.toContain("cut");
  }
  const kinds = drawn.flatMap(({ incidents }) => incidents.map(({ kind }) => kind));
  expect(new Set(kinds)).toEqual(new Set(["stop", "restart", "pause", "clockJump"]));
  expect(Math.max(...drawn.map(({ rates }) => rates.slow))).toBeGreaterThan(0);
});
