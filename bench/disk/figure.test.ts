import { expect, test } from "vitest";
import { FigureResults } from "../figures/figure.js";
import { samples } from "../figures/testing/samples.js";
import { type DiskResult, disk } from "./figure.js";

const sample = samples.disk!.lmdb as DiskResult;
const drawn = (of: DiskResult) => disk.draw(new FigureResults({ lmdb: of })).tables.join("\n");

test("what compression costs and saves stands beside the same crawls without it", () => {
  expect(drawn(sample)).toContain(
    "| crawl.warc.gz | 10.0, 12.5 (0.80) | 140, 100 (1.40) | 20.0, 30.0 (0.67) | 2.00, 4.00 (0.50) |",
  );
});

test("results from before that have no such table", () => {
  expect(drawn({ ...sample, plain: undefined })).not.toContain("plain");
});
