import { expect, test } from "vitest";
import type { ObserverBacklog } from "../backlog.js";
import { exposedGauges, type SampledDistribution } from "./gauges.js";

test("the gauge of parked changes is absent rather than 0 if the count ended before it found one", () => {
  const counts = { none: [0, false], some: [3, true], unknown: [0, true] } as const;
  const observers = Object.entries(counts).map(([name, [count, more]]) => {
    const backlog = { count, more, oldest: undefined };
    return { record: { name }, pending: backlog, retrying: 0, parked: backlog } as ObserverBacklog;
  });
  const standing = {
    observers,
    schedules: [],
    attached: { tables: [] },
    status: { sessions: new Map(), statistics: {} },
  };
  const sampled = { standing, reach: { store: {} }, now: 0 } as unknown as SampledDistribution;
  const gauge = exposedGauges(sampled).find(({ name }) => name === "parked_changes");
  expect(gauge?.samples.map(({ labels, value }) => [labels.observer, value])).toEqual([
    ["none", 0],
    ["some", 3],
  ]);
});
