/** Figures that others have published, each with its source and what differs from ours. */
export interface Source {
  readonly name: string;
  readonly url: string;
  readonly differs: string;
}

export const foundationdb: Source = {
  name: "FoundationDB, Benchmarking",
  url: "https://apple.github.io/foundationdb/benchmarking.html",
  differs:
    "a server process on one core, with one SATA SSD; serializable; a commit waits for its flush. Ours: clients, transactions and store are one process; snapshot isolation; a commit waits for its flush.",
};

export const tikv: Source = {
  name: "TiKV 6.5, Performance Overview",
  url: "https://tikv.org/docs/6.5/deploy/performance/overview/",
  differs:
    "three nodes of 40 virtual CPUs and 64 GiB each; its raw key-value mode, without transactions, with 10 million records. Ours: one process; each operation is a transaction with snapshot isolation; fewer records.",
};

export const flink: Source = {
  name: "nexmark/nexmark, Flink 1.13",
  url: "https://github.com/nexmark/nexmark#benchmark-results",
  differs:
    "100 million events on 8 task managers, with state in RocksDB, a checkpoint every 3 minutes, batches of 2 s, and results that nothing stores; the rate is divided by the cores in use. Ours: each event and each result is a row, and each run of an observer is a transaction that is flushed.",
};

/** FoundationDB's tests, in the order of ours. */
export const foundationdbRates: readonly number[] = [917, 8_650, 46_000, 305_000, 107_000, 3_600_000];

/** The two rates that TiKV's page gives: reads of workload C, and updates of workload A. */
export const tikvRates = { C: "212,000 reads", A: "43,200 updates" } as const;

/** Events a second and core. Flink cannot run query 6. */
export const flinkRates: Readonly<Record<string, number>> = {
  q1: 157_940,
  q2: 175_210,
  q3: 152_120,
  q4: 34_330,
  q5: 22_140,
  q7: 12_330,
  q8: 146_140,
};
