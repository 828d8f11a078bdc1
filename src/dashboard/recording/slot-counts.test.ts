import { describe, expect, test } from "vitest";
import { addSeries, SlotCounts } from "./slot-counts.js";

describe("counts of each second", () => {
  test("end with the newest full second", () => {
    const counts = new SlotCounts(4);
    for (const ms of [10_000, 10_999, 11_500, 13_000, 13_100]) counts.add(ms);
    expect(counts.series(13_200)).toEqual({ endsAt: 13_000, values: [0, 2, 1, 0] });
    expect(counts.series(14_000)).toEqual({ endsAt: 14_000, values: [2, 1, 0, 2] });
    expect(counts.series(99_000).values).toEqual([0, 0, 0, 0]);
  });

  test("give a rate of the last full seconds", () => {
    const counts = new SlotCounts(16);
    for (let ms = 0; ms < 10_000; ms += 100) counts.add(ms, 2);
    expect(counts.rate(10_050)).toBe(20);
    expect(counts.rate(12_000)).toBe(12);
    expect(counts.rate(60_000)).toBe(0);
  });

  test("of several processes are added second by second", () => {
    const one = { endsAt: 5_000, values: [1, 2, 3] };
    const late = { endsAt: 4_000, values: [10, 20, 30] };
    expect(addSeries([one, late], 5_500, 4)).toEqual({ endsAt: 5_000, values: [10, 21, 32, 3] });
    expect(addSeries([], 5_500, 2)).toEqual({ endsAt: 5_000, values: [0, 0] });
  });
});
