import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Bench } from "./bench.js";
import { importing } from "./import.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "percolatordb-bench-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("the built package is imported and prints its help, and both have a floor", async () => {
  const bench = new Bench({ only: [], quick: true, cells: 0, rounds: 1, args: [] }, folder);
  const { figures } = await importing.run(bench);
  expect(figures.map(({ name, ceiling }) => [name, ceiling])).toEqual([
    ["node -e 0", undefined],
    ['import("percolatordb"), beyond node -e 0', 40],
    ['and open("memory:"), beyond node -e 0', undefined],
    ["percolator --help, beyond node -e 0", 150],
  ]);
  for (const { value } of figures) expect(value).toBeGreaterThan(0);
}, 120_000);
