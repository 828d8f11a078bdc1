import { describe, expect, test } from "vitest";
import { phasesOf } from "./figure.js";

describe("phases", () => {
  const samples = [60, 62, 20, 40, 30, 30, 50, 70].map((rate, index) => ({ at: index + 1, rate }));
  const marks = [
    { at: 2.5, text: "killed" },
    { at: 4.5, text: "replaced" },
  ];

  test("end at the kill, at the replacement, and the last one is the second half of the rest", () => {
    expect(phasesOf(samples, marks)).toEqual({ before: 61, during: 30, after: 60 });
  });

  test("cannot be computed if one has no sample", () => {
    expect(() => phasesOf(samples.slice(2), marks)).toThrow(RangeError);
    expect(() => phasesOf([], marks)).toThrow(RangeError);
  });
});
