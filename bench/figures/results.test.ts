import { expect, test } from "vitest";
import { merged, type Results } from "./results.js";

const results = (entries: Readonly<Record<string, Readonly<Record<string, string>>>>): Results => ({
  figures: Object.fromEntries(
    Object.entries(entries).map(([figure, measurements]) => [
      figure,
      Object.fromEntries(Object.entries(measurements).map(([name, result]) => [name, measured(result)])),
    ]),
  ),
});

function measured(result: string): Results["figures"][string][string] {
  const spread = { median: 1, low: 1, high: 1, count: 1 };
  const machine = {
    percolatordb: "",
    node: "",
    lmdb: "",
    cpu: "",
    cores: 1,
    memoryGiB: 1,
    kernel: "",
    flushMs: spread,
  };
  return { command: "", size: "small", date: "", seconds: 1, machine, result };
}

test("the newer result of a measurement stands, and what was not measured again stays", () => {
  const before = results({ first: { lmdb: "old", bigtable: "kept" }, second: { lmdb: "kept too" } });
  const after = results({ first: { lmdb: "new" }, third: { lmdb: "new too" } });
  expect(merged(before, after)).toEqual(
    results({
      first: { lmdb: "new", bigtable: "kept" },
      second: { lmdb: "kept too" },
      third: { lmdb: "new too" },
    }),
  );
});
