import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^percolatordb$/, replacement: source("index.ts") },
      { find: /^percolatordb\/(memory|lmdb|bigtable)$/, replacement: `${source("store")}/$1/index.ts` },
      { find: /^percolatordb\/(coordinator|testing)$/, replacement: `${source("")}$1/index.ts` },
    ],
  },
  test: {
    // Many tests wait, for a disk or another process: two at a time use a machine of two cores better than one.
    maxWorkers: 2,
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts", "bench/**/*.test.ts"],
    pool: "forks",
    testTimeout: 120_000,
    hookTimeout: 120_000,
    typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"], tsconfig: "./tsconfig.json" },
  },
});
