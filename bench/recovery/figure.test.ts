import { describe, expect, test } from "vitest";
import { phasesOf } from "./figure.js";

describe("phases", () => {
  const samples = [60, 62, 20, 40, 30, 30, 50, 70].map((rate, index) => ({ at: index + 1, rate }));
  const marks = [
    { at: 2.5, text: "killed" },
    { at: 4.5, text: "replaced" },
  ];

  test("are before the kill, until the replacement, and the second half after it", () => {
    expect(phasesOf(samples, marks)).toEqual({ before: 61, during: 30, after: 60 });
  });

  test("are no figures if one has no sample", () => {
    expect(() => phasesOf(samples.slice(2), marks)).toThrow(RangeError);
    expect(() => phasesOf([], marks)).toThrow(RangeError);
  });
});
