import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

const folders = "{src,test,examples,bench}";
/** Tests that take long, most of them because they start, kill or trace many processes: `npm run test:long`. */
const long = `${folders}/**/*.long.test.ts`;

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^percolatordb$/, replacement: source("index.ts") },
      { find: /^percolatordb\/(memory|lmdb|bigtable)$/, replacement: `${source("store")}/$1/index.ts` },
      { find: /^percolatordb\/store$/, replacement: source("store/public.ts") },
      { find: /^percolatordb\/dashboard$/, replacement: source("dashboard/public.ts") },
      { find: /^percolatordb\/(coordinator|recipes|testing)$/, replacement: `${source("")}$1/index.ts` },
    ],
  },
  test: {
    // Many tests wait, for a disk or another process: two at a time use a machine of two cores better than one.
    maxWorkers: 2,
    // No test changes what another shares, and to load the library anew for each file is a fifth of the time.
    isolate: false,
    pool: "forks",
    include: mode === "long" ? [long] : [`${folders}/**/*.test.ts`],
    exclude: [...configDefaults.exclude, ...(mode === "test" ? [long] : [])],
    // Nothing here asks whether this machine is one of Google's: no test may reach beyond loopback.
    env: { METADATA_SERVER_DETECTION: "none" },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is looked at again may be shown by another process, on a machine however busy.
    expect: { poll: { timeout: 60_000 } },
    typecheck: {
      enabled: mode !== "long",
      include: ["test/types/**/*.test-d.ts"],
      tsconfig: "./tsconfig.json",
    },
  },
}));
