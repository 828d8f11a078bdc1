import { describe, expect, test } from "vitest";
import { type BarChart, barChart, type LineChart, lineChart } from "./chart.js";

const lines: LineChart = {
  title: "Delay & rate",
  description: "What is drawn, for readers who cannot see it.",
  across: { name: "rate <of all>", kind: "log" },
  up: { name: "ms" },
  lines: [
    {
      name: "first",
      points: [
        { x: 1, y: 5, low: 2, high: 8 },
        { x: 100, y: 10, low: 6, high: 10 },
      ],
    },
    { name: "second", dashed: true, points: [{ x: 1, y: 3 }] },
  ],
  events: [{ x: 10, name: "it happened" }],
};

const bars: BarChart = {
  title: "Ratios",
  description: "Bars.",
  axis: "of raw",
  series: ["ours", "theirs"],
  groups: [
    { name: "reads", bars: [{ value: 0.5, low: 0.4, high: 0.6 }, { value: 1 }], bound: 0.25 },
    { name: "writes", bars: [undefined, { value: 0.8, text: "four fifths" }] },
  ],
  boundName: "floor",
};

/** Returns the attributes of all elements with a name, in order. */
function elements(svg: string, name: string): readonly Readonly<Record<string, string>>[] {
  return [...svg.matchAll(new RegExp(`<${name} ([^>]*?)/?>`, "g"))].map(([, attributes]) =>
    Object.fromEntries(
      [...attributes!.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    ),
  );
}

const words = (svg: string) => [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, found]) => found);

describe.each([
  { kind: "lines", svg: lineChart(lines) },
  { kind: "bars", svg: barChart(bars) },
])("a chart of $kind", ({ svg }) => {
  test("is a picture with a title and a description for readers who cannot see it", () => {
    expect(svg).toMatch(
      /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 760 \d+" [^>]*role="img" aria-labelledby="title desc">/,
    );
    expect(svg).toMatch(/<title id="title">[^<]+<\/title>\n<desc id="desc">[^<]+<\/desc>/);
  });

  test("loads nothing, and brings its own background for light and dark", () => {
    expect(svg).not.toMatch(/url\(|@import|href=/);
    expect(svg).toContain('class="ground"');
    expect(svg).toContain("prefers-color-scheme:dark");
  });

  test("contains no invalid number", () => {
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });
});

describe("a chart of lines", () => {
  test("has its points at the places of the scales", () => {
    const svg = lineChart(lines);
    const [first] = elements(svg, "polyline");
    const places = first!.points!.split(" ").map((pair) => pair.split(",").map(Number));
    const plot = elements(svg, "line").filter(({ class: of }) => of === "grid");
    const across = plot.filter(({ x1, x2 }) => x1 === x2).map(({ x1 }) => Number(x1));
    const up = plot.filter(({ y1, y2 }) => y1 === y2).map(({ y1 }) => Number(y1));
    expect(places.map(([x]) => x)).toEqual([Math.min(...across), Math.max(...across)]);
    // The ticks are 0 to 10 by twos, from the bottom: 5 is in the middle, 10 at the top.
    expect(places[0]![1]).toBeCloseTo((Math.max(...up) + Math.min(...up)) / 2, 0);
    expect(places[1]![1]).toBe(Math.min(...up));
  });

  test("names of events that are close to each other do not overlap", () => {
    const events = [10, 11, 12].map((x) => ({ x, name: `as slow as batches at ${x} %` }));
    const names = [...lineChart({ ...lines, events }).matchAll(/<text [^>]*y="([^"]+)"[^>]*>as slow/g)];
    expect(new Set(names.map(([, y]) => y)).size).toBe(3);
  });

  test("has a band for a line with a spread, a mark for each point of a solid line, and its events", () => {
    const svg = lineChart(lines);
    expect(elements(svg, "polygon").filter(({ class: of }) => of === "fill0 band")).toHaveLength(1);
    expect(elements(svg, "circle")).toHaveLength(3);
    expect(elements(svg, "polyline").map(({ class: of }) => of)).toEqual(["line0", "line1 dashed"]);
    expect(words(svg)).toEqual(
      expect.arrayContaining(["first", "second", "it happened", "rate &lt;of all&gt;"]),
    );
  });
});

describe("a chart of bars", () => {
  test("has bars as long as their values, with spreads, bounds and texts", () => {
    const svg = barChart(bars);
    const drawn = elements(svg, "rect").filter(
      ({ class: of, x }) => /^fill/.test(of ?? "") && Number(x) > 60,
    );
    const widths = drawn.filter(({ height }) => height === "12").map(({ width }) => Number(width));
    const longest = Math.max(...widths);
    expect(widths.slice(-3).map((width) => Math.round((100 * width) / longest))).toEqual([50, 100, 80]);
    expect(elements(svg, "line").filter(({ class: of }) => of === "bound")).toHaveLength(1);
    expect(words(svg)).toEqual(
      expect.arrayContaining(["reads", "0.5", "four fifths", "of raw; dashed: floor"]),
    );
  });

  test("has marks instead of bars if its axis is logarithmic", () => {
    const svg = barChart({ ...bars, kind: "log" });
    expect(elements(svg, "circle").filter(({ class: of }) => of === "fill0").length).toBeGreaterThan(0);
    expect(elements(svg, "rect").filter(({ height }) => height === "12")).toEqual([]);
  });
});
