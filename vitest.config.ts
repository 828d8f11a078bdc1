import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

const folders = "{src,test,examples,bench}";
/**
 * Tests that take long, most of them because they start, kill or trace many processes. Run them
 * with `npm run test:long`.
 */
const long = `${folders}/**/*.long.test.ts`;

/** Folders of short files that take long. */
const slow =
  /\/(test\/(bigtable|browser|conformance|crash|docs|exploration|isolation|peers|properties|simulation)|src\/testing)\//;

/**
 * Without the times of an earlier run, Vitest begins with the largest files. So that processors are not idle
 * at the end, slow ones come before them.
 */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification) => slow.test(moduleId);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^percolatordb$/, replacement: source("index.ts") },
      {
        find: /^percolatordb\/(memory|lmdb|bigtable)$/,
        replacement: `${source("store")}/$1/index.ts`,
      },
      { find: /^percolatordb\/store$/, replacement: source("store/public.ts") },
      { find: /^percolatordb\/dashboard$/, replacement: source("dashboard/public.ts") },
      { find: /^percolatordb\/live$/, replacement: source("live/http/index.ts") },
      { find: /^percolatordb\/live\/client$/, replacement: source("live/client/index.ts") },
      { find: /^percolatordb\/live\/(preact|react)$/, replacement: `${source("live/client")}/$1.ts` },
      // React needs a browser, and test/browser has one. Preact has the hooks that the package uses of it.
      { find: /^react$/, replacement: "preact/compat" },
      {
        find: /^percolatordb\/(backup|coordinator|postgres|recipes|testing)$/,
        replacement: `${source("")}$1/index.ts`,
      },
    ],
  },
  test: {
    // Three test files at a time, also on two processors, because most tests wait for a disk, a server
    // or another process. Four take as long: each worker loads and compiles the library for itself.
    maxWorkers: 3,
    // Test files share one copy of the library. Loading it for each file would take a fifth of the
    // time, and no test changes state that other tests use.
    isolate: false,
    sequence: { sequencer: SlowFirst },
    pool: "forks",
    // Most of what a test makes is garbage soon. A larger nursery spares the collector work.
    execArgv: "bun" in process.versions || "deno" in process.versions ? [] : ["--max-semi-space-size=32"],
    // Ends the PostgreSQL server that the tests share, if any of them has started it.
    globalSetup: ["./test/support/postgres/shared-server.ts", "./test/support/built/files.ts"],
    setupFiles: ["./test/support/own-group.ts"],
    include: mode === "long" ? [long] : [`${folders}/**/*.test.ts`],
    exclude: [...configDefaults.exclude, ...(mode === "test" ? [long] : [])],
    // Keeps Google's library from asking the network whether this is one of Google's machines. No
    // test may send requests beyond loopback.
    env: { METADATA_SERVER_DETECTION: "none" },
    // On Bun, Vitest loses zod's export `z` unless it loads zod itself.
    server: { deps: { inline: "bun" in process.versions ? ["zod"] : [] } },
    // Long tests start many processes, so on a busy machine some take minutes.
    testTimeout: mode === "test" ? 120_000 : 600_000,
    hookTimeout: 120_000,
    // A polled condition may depend on another process, and the machine may be busy.
    expect: { poll: { timeout: 60_000 } },
    typecheck: {
      enabled: mode !== "long",
      include: ["test/types/**/*.test-d.ts"],
      // Of the whole project, `npm run typecheck` checks the types, with TypeScript 7.
      checker: fileURLToPath(new URL("./node_modules/typescript/bin/tsc", import.meta.url)),
      tsconfig: "./test/types/tsconfig.json",
    },
  },
}));
