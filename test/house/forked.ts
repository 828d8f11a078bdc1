/** Every script that this project forks. */
export const forked = [
  "examples/webindex/twin/child.ts",
  "bench/brokerage/process.ts",
  "bench/cases/oracle-process.ts",
  "bench/clustering/batch.ts",
  "bench/crawls/worker.ts",
  "bench/dashboard/process.ts",
  "bench/memory/process.ts",
  "bench/postgres/percolator-process.ts",
  "bench/postgres/postgres-process.ts",
  "bench/postgres/worker.ts",
  "bench/recovery/process.ts",
  "bench/recrawl/process.ts",
  "bench/scaling/process.ts",
  "test/coordinator/child.ts",
  "test/exploration/child.ts",
  "test/simulation/main.ts",
];
/** Files with the same calls that are not forked themselves. */
export const others = [
  "bench/harness/child.ts",
  "test/coordinator/lent-store.ts",
  "test/support/end-with-parent.ts",
];
