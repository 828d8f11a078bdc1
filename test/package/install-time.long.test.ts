import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Packed, root } from "./packed.js";

let packed: Packed;

beforeAll(async () => {
  packed = await Packed.create();
}, 600_000);

afterAll(() => packed?.remove());

test("is installed in less than five times the time of LMDB alone, from a cache that has both", async () => {
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const seconds = { ours: [] as number[], lmdb: [] as number[] };
  for (let round = 0; round < 5; round++) {
    for (const [side, given] of [
      ["ours", packed.tarball],
      ["lmdb", `lmdb@${dependencies.lmdb}`],
    ] as const) {
      const began = performance.now();
      await packed.install(`${side}-${round}`, ["--prefer-offline", given]);
      seconds[side].push((performance.now() - began) / 1_000);
    }
  }
  const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[2]!;
  const [ours, lmdb] = [median(seconds.ours), median(seconds.lmdb)];
  process.stdout.write(`npm install: ${ours.toFixed(1)} s, lmdb alone ${lmdb.toFixed(1)} s\n`);
  expect(ours / lmdb).toBeLessThan(5);
});
