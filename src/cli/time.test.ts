import { describe, expect, it } from "vitest";
import { formatDuration, parseCount, parseDuration, parseMoment, showTimestamp } from "./time.js";
import { UsageError } from "./usage-error.js";

describe("durations", () => {
  it.each([
    ["0", 0],
    ["250", 250],
    ["250ms", 250],
    ["1.5s", 1_500],
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["2d", 172_800_000],
  ])("%s can be parsed", (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(["", "s", "-1", "1 s", "1y", "1e3", "Infinity", "99999999999999999999"])(
    "%j are refused",
    (text) => {
      expect(() => parseDuration(text)).toThrow(UsageError);
    },
  );

  it.each([
    [0, "0ms"],
    [999.4, "999ms"],
    [1_000, "1s"],
    [62_000, "1m 2s"],
    [3_720_000, "1h 2m"],
    [93_600_000, "1d 2h"],
    [-1_500, "-1s"],
  ])("of %d ms are formatted", (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });
});

describe("times", () => {
  it("are timestamps or dates", () => {
    expect(parseMoment("1735689600000000")).toBe(1_735_689_600_000_000);
    expect(parseMoment("2025-01-01")).toEqual(new Date("2025-01-01T00:00:00Z"));
    expect(parseMoment("2025-01-01T00:00:00+01:00")).toEqual(new Date("2024-12-31T23:00:00Z"));
  });

  it.each([
    "",
    "now",
    "2025-13-01",
    "2025-02-30",
    "2025-02-29T12:00:00Z",
    "2025-1-1",
    "12:00",
    "-5",
    "1.5",
    "99999999999999999999",
  ])("refuse %j", (text) => {
    expect(() => parseMoment(text)).toThrow(UsageError);
  });

  it("are formatted as dates", () => {
    expect(showTimestamp(1_735_689_600_000_999)).toBe("2025-01-01T00:00:00.000Z");
    expect(showTimestamp(Number.POSITIVE_INFINITY)).toBe("");
    expect(showTimestamp(0)).toBe("");
  });
});

describe("counts", () => {
  it("are whole numbers", () => {
    expect(parseCount(0)("0")).toBe(0);
    expect(parseCount(1)("12")).toBe(12);
    for (const text of ["0", "-1", "1.5", "", "x"]) expect(() => parseCount(1)(text)).toThrow(UsageError);
  });
});
