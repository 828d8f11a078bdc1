import { faultKinds, showFailure, simulate, simulatedStores } from "percolatordb/testing";
import { expect, test } from "vitest";
import { workload } from "./workload/index.js";

const runs = Number(process.env.SIMULATION_RUNS ?? 40);

test(`${runs} runs violate nothing, and contain every kind of fault`, {
  timeout: 3_600_000,
}, async () => {
  const { counts, failure } = await simulate({ runs, workload });
  expect(failure === undefined ? "" : showFailure(failure)).toBe("");
  expect(counts.runs).toBe(runs);
  for (const kind of faultKinds) expect(counts.faults[kind], kind).toBeGreaterThan(0);
  for (const store of simulatedStores) expect(counts.stores[store], store).toBeGreaterThan(0);
  const { stores: _stores, faults: _faults, ...happened } = counts;
  for (const [what, count] of Object.entries(happened)) expect(count, what).toBeGreaterThan(0);
});

test("equal seeds lead to equal events, different seeds to different ones", async () => {
  const play = (seed: string) => simulate({ runs: 10, seed, workload });
  const [one, again, other] = [await play("one"), await play("one"), await play("other")];
  expect(again.hash).toBe(one.hash);
  expect(again.counts).toEqual(one.counts);
  expect(other.hash).not.toBe(one.hash);
});

test("a run played alone is the same as among others", async () => {
  const first = await simulate({ runs: 1, firstRun: 7, workload });
  await simulate({ runs: 3, workload });
  const again = await simulate({ runs: 1, firstRun: 7, workload });
  expect(again.hash).toBe(first.hash);
});
