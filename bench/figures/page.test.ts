import { expect, test } from "vitest";
import type { Figure } from "./figure.js";
import { blocksOf, drawBlocks, withBlocks } from "./page.js";
import type { Measured } from "./results.js";

const page = `# Page

By hand.

<!-- figure: first -->
old
<!-- end -->

Between.

<!-- figure: second-one -->
<!-- end -->
`;

test("blocks are found by their markers", () => {
  expect([...blocksOf(page)]).toEqual([
    ["first", "old\n"],
    ["second-one", ""],
  ]);
});

test("only the text between the markers is replaced", () => {
  const changed = withBlocks(
    page,
    new Map([
      ["first", "new $& 1"],
      ["second-one", "new\n\n2"],
    ]),
  );
  expect(changed).toBe(
    page.replace("old\n", () => "new $& 1\n").replace("second-one -->\n", "second-one -->\nnew\n\n2\n"),
  );
  expect(
    withBlocks(
      changed,
      new Map([
        ["first", "old"],
        ["second-one", ""],
      ]),
    ).replace("-->\n\n<!-- end", "-->\n<!-- end"),
  ).toBe(page);
});

test("a figure without a place and a place without a figure are errors", () => {
  expect(() => withBlocks(page, new Map([["first", ""]]))).toThrow("second-one");
  const all = new Map([
    ["first", ""],
    ["second-one", ""],
    ["third", ""],
  ]);
  expect(() => withBlocks(page, all)).toThrow("third");
});

const measured: Measured = {
  command: "npm run one",
  size: "full",
  date: "2026-11-22T00:00:00.000Z",
  seconds: 1,
  busyBefore: 0,
  machine: {
    percolatordb: "0.1.0",
    node: "v20",
    lmdb: "3",
    cores: 2,
    cpu: "a processor",
    memoryGiB: 1,
    kernel: "linux",
    flushMs: { median: 1, low: 1, high: 1, count: 1 },
  },
  result: {},
};

test("a measurement before which nobody knows how busy the machine was does not count as one of an idle machine", () => {
  const figure: Figure = {
    name: "one",
    about: "",
    measurements: [],
    draw: () => ({ tables: ["|"], plots: [] }),
  };
  const drawn = (busyBefore: number | undefined) =>
    drawBlocks(
      [
        {
          ...figure,
          measurements: [
            { name: "lmdb", script: "one", args: { small: [], full: [] }, minutes: { small: 1, full: 1 } },
          ],
        },
      ],
      { figures: { one: { lmdb: { ...measured, busyBefore } } } },
      ".",
    );
  expect(drawn(0).get("configuration")).not.toContain("Provisional");
  expect(drawn(0.5).get("configuration")).toContain("of 1 measurements: before 1, other programs used");
  expect(drawn(undefined).get("configuration")).toContain(
    "of 1 measurements: before 1, it is not known how much",
  );
  expect(drawn(undefined).get("one")).toContain("what other programs used just before is not known");
});

test("how long all measurements took at small size is compared with its limit", () => {
  const { date, revision, machine } = measured;
  const figure: Figure = {
    name: "one",
    about: "",
    measurements: [],
    draw: () => ({ tables: [], plots: [] }),
  };
  const drawn = (seconds: number, archives: number) =>
    drawBlocks(
      [figure],
      {
        figures: { one: { lmdb: measured } },
        runs: { small: { date, seconds, revision, machine, archives } },
      },
      ".",
    ).get("configuration");
  expect(drawn(1_199, 0)).toContain(
    "All measurements at small size, with no web archives, took 20.0 minutes (2026-11-22, 2 of a processor). Under 20 minutes: met.",
  );
  expect(drawn(1_200, 2)).toContain("with 2 web archives");
  expect(drawn(1_200, 2)).toContain("Under 20 minutes: **missed**.");
});
