/** A short example of each measurement's output, by figure and measurement. */

const spread = (median: number) => ({ median, low: median * 0.9, high: median * 1.1, count: 5 });

const comparison = (name: string, raw: number, ours: number, floor?: number) => ({
  name,
  unit: "reads",
  operations: 1_000,
  ...(floor === undefined ? {} : { floor }),
  raw: spread(raw),
  ours: spread(ours),
  ratio: spread(ours / raw),
  processorRatio: spread((0.9 * ours) / raw),
});

const bench = (
  name: string,
  comparisons: readonly object[],
  figures: readonly object[],
  configuration?: string,
) => ({
  configuration: {},
  cases: {
    [name]: { comparisons, figures, ...(configuration === undefined ? {} : { configuration }) },
  },
});

const figure = (name: string, value: number, unit: string, ceiling?: number) => ({
  name,
  value,
  unit,
  spread: spread(value),
  ...(ceiling === undefined ? {} : { ceiling }),
});

const round = (requests: Readonly<Record<string, number>>) => ({ conflictShare: 0.02, requests, wrong: [] });

const processes = (count: number, rate: number, requests: Readonly<Record<string, number>>) => ({
  processes: count,
  transactionsPerSecond: spread(rate),
  factor: spread(rate / 1_000),
  rounds: [round(requests)],
});

const requests = { read: 3.1, conditionalMutation: 2.5, timestamp: 0.7 };

const moment = (ms: number) => ({ ms, cpuMs: ms / 2, anonymous: 1e8 });

const started = (ms: number) => ({ opened: moment(ms / 2), first: moment(ms), all: moment(ms * 2) });

const rate = (perSecond: number) => ({
  perSecond,
  perCpuSecond: perSecond / 1.5,
  operations: perSecond,
  seconds: 1,
});

const searches = (p50: number) => ({ p50, p95: 5 * p50, perSecond: 900 / p50, cpuMs: p50, totals: [3, 4] });

const side = (rate: number, delay: number) => ({
  pagesPerSecond: spread(rate),
  cpuSeconds: 12,
  perSecond: 40,
  delayMs: { p5: delay / 2, p50: delay, p95: delay * 4 },
  flushMs: 0.6,
  beyondFlushesMs: spread(delay - 3),
  afterKill: [{ killed: "one worker", seconds: 4, stuckJobs: 0, afterSeconds: 10, wrong: 0 }],
  wrong: 0,
});

const indexed = (pages: number, seconds: number) => ({
  seconds,
  cpuSeconds: seconds * 1.3,
  added: 1,
  changed: pages - 1,
  unchanged: 0,
  deleted: 0,
  runs: 12 * pages,
  commits: 10 * pages,
  cells: 90 * pages,
  wrong: 0,
  problems: [],
});

const loadedCrawl = {
  name: "crawl.warc.gz",
  pages: 10,
  bodyBytes: 1e6,
  seconds: 1,
  cpuSeconds: 1.4,
  transactions: 30,
  written: 2e7,
  bytes: 2e6,
};

const wire = (crawl: string) => [
  { name: `${crawl}, documents`, value: 300, unit: "documents" },
  figure(`${crawl}, reads before`, 60, "requests a document"),
  figure(`${crawl}, reads sent`, 12, "requests a document"),
  figure(`${crawl}, all, before`, 90, "requests a document"),
  figure(`${crawl}, all, fetched ahead and joined`, 70, "requests a document"),
  figure(`${crawl}, all, gathered by the store too`, 30, "requests a document"),
  figure(`${crawl}, share that is sent`, 1 / 3, "of the requests before", 0.5),
];

const clusteringSample = (place: string) => [
  {
    documents: 10_000,
    fillPerSecond: 9_000,
    barePerSecond: 12_000,
    batches: [
      {
        place,
        batchMs: 100,
        hourSeconds: 0.3,
        rates: [
          { percent: 0.1, perSecond: 33, loaded: 10, late: 0, p5: 1, p50: 2, p95: 9 },
          { percent: 100, perSecond: 33_000, loaded: 10_000, late: 4_000, p5: 90, p50: 400, p95: 700 },
        ],
        ...(place === "same database" ? {} : { crossover: 37 }),
      },
    ],
    wrong: 0,
  },
];

const recrawlSample = {
  configuration: {},
  first: { name: "first", pages: 800, load: indexed(800, 3) },
  crawls: [10, 100].map((changed) => ({
    name: `${changed} changed`,
    pages: 800,
    update: indexed(changed, changed / 200),
    load: indexed(800, 3),
    rebuild: { seconds: 1, cpuSeconds: 1.2 },
  })),
};

const peerSample = {
  configuration: { postgres: "15.1", graphileWorker: "0.16.6" },
  pages: 700,
  percolator: side(400, 9),
  postgres: side(60, 90),
  rebuild: { seconds: 1, pagesPerSecond: 700 },
  ratio: spread(6.6),
  floor: 5,
  ceilingMs: 10,
};

export const samples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  overhead: {
    lmdb: bench(
      "reads",
      [
        comparison("reads, 100 bytes", 800_000, 450_000, 0.5),
        comparison("transactions of one cell, 1 in flight, flushed", 900, 700),
        comparison("transactions of one cell, 1,000 in flight, flushed", 40_000, 25_000, 0.4),
      ],
      [],
    ),
    bigtable: bench(
      "bigtable",
      [comparison("transactions of one cell, 64 in flight", 4_000, 1_900, 0.45)],
      [],
    ),
  },
  "postgres-store": {
    postgres: bench(
      "postgres",
      [
        comparison("transactions of one cell on PostgreSQL, 1,000 in flight", 30_000, 21_000),
        comparison("transactions of 10 cells on PostgreSQL, 200 in flight", 5_000, 3_900),
        comparison("reads on PostgreSQL, 1,000 in flight, gathered", 90_000, 45_000),
        comparison("scans of 100 on PostgreSQL", 200_000, 100_000),
      ],
      [figure("commit to its observer's commit in another process, on PostgreSQL", 14, "ms", 20)],
      "server_version 15.1, shared_buffers 512MB, fsync on",
    ),
  },
  clustering: { lmdb: clusteringSample("same database"), bare: clusteringSample("bare LMDB") },
  recrawl: { made: recrawlSample, archives: recrawlSample },
  delay: {
    lmdb: bench(
      "delay",
      [],
      [
        figure("two flushed puts, one after the other", 1.4, "ms"),
        figure("commit to its observer's commit, beyond two flushed puts", 1.1, "ms", 2),
      ],
    ),
  },
  notifications: {
    lmdb: bench(
      "notifications",
      [],
      [
        figure("10 found and handled, among 10,000", 5, "ms"),
        figure("every cell scanned, among 10,000", 20, "ms"),
        figure("10 found and handled, among 1,000,000", 6, "ms"),
        figure("every cell scanned, among 1,000,000", 2_000, "ms"),
        {
          name: "time among the most cells, divided by that among the fewest",
          value: 1.2,
          unit: "times",
          ceiling: 2,
        },
      ],
    ),
  },
  brokerage: {
    lmdb: { figures: [processes(1, 1_000, {}), processes(2, 1_400, {})] },
    bigtable: { figures: [processes(1, 1_000, requests), processes(2, 900, requests)] },
  },
  scaling: {
    lmdb: {
      pipelines: [
        {
          pipeline: "minhash",
          functions: 2_048,
          pages: 300,
          figures: [1, 2].map((workers) => ({
            workers,
            pagesPerSecond: spread(100 * workers),
            factor: spread(workers * 0.95),
            cpuSeconds: spread(3),
            rounds: [{ wrong: [] }],
          })),
        },
      ],
    },
  },
  recovery: {
    bigtable: {
      workers: 6,
      before: 34,
      during: 24,
      after: 31,
      marks: [
        { at: 2, text: "2 of 6 killed" },
        { at: 4, text: "replacements started" },
      ],
      samples: [34, 33, 24, 25, 31, 33].map((rate, index) => ({ at: index + 1, rate })),
      changes: 180,
      wrong: 0,
      problems: 0,
    },
  },
  oracle: {
    coordinator: bench(
      "oracle",
      [],
      [
        figure("timestamps to 1 x 5000 callers", 600_000, "timestamps/s"),
        figure("timestamps to 1 x 5000 callers: per second of the clients' CPU", 700_000, "timestamps"),
      ],
    ),
  },
  documents: { wire: bench("wire", [], [...wire("first crawl"), ...wire("few changed")]) },
  peer: {
    postgres: peerSample,
    each: peerSample,
  },
  growth: {
    lmdb: {
      options: { pages: 900, links: 10, words: 20, window: 100, step: 300 },
      steps: [0, 300, 600].map((from) => ({
        from,
        to: from + 300,
        cpuMs: 3,
        ownMs: 1,
        runs: 4,
        writtenMiB: 0.8,
      })),
      wrong: 0,
      problems: [],
    },
  },
  bulk: {
    lmdb: {
      options: { rows: 1_000, bytes: 100, rounds: 1 },
      sides: Object.fromEntries(
        ["load", "observers", "transactions"].map((side, at) => [
          side,
          [{ seconds: 1 + at, cpuSeconds: 2 + at, rows: 2_000, due: 0 }],
        ]),
      ),
    },
  },
  search: {
    lmdb: {
      pages: 100,
      atOnce: 20,
      percolator: searches(1),
      minisearch: searches(4),
      postgres: searches(20),
      loading: { p50: 2, p95: 9, searches: 40, aloneRate: 300, searchedRate: 280 },
      apart: { p50: 1.5, p95: 5, searches: 40, aloneRate: 300, searchedRate: 290 },
    },
  },
  disk: {
    lmdb: {
      crawls: [loadedCrawl],
      plain: [{ ...loadedCrawl, seconds: 0.8, cpuSeconds: 1, written: 3e7, bytes: 4e6 }],
      composition: {
        bytes: 2e6,
        columns: [
          {
            name: "documents.contents",
            records: 10,
            keys: 1_000,
            values: 1e6,
            older: 0,
            overhead: 500,
            unfilled: 3e5,
          },
        ],
        branches: 4_096,
        room: 2e5,
        free: 4e5,
      },
      wrong: 0,
      problems: [],
      shown: 24,
    },
  },
  memory: {
    lmdb: {
      perSecond: 1_000,
      collections: 8,
      wrong: 0,
      trends: { anonymous: { start: 120, median: 121, end: 121, most: 130, perMinute: 0.2 } },
      samples: [1, 2, 3].map((at) => ({ at, resident: 2e8, anonymous: 1.2e8, heap: 5e7 })),
    },
  },
  hydration: {
    lmdb: {
      options: { rows: 1_000, waiting: 100, rounds: 1 },
      buildSeconds: 1,
      incremental: [{ ...started(800), handled: 1 }],
      inMemory: [{ ...started(9_000), handled: 1_100 }],
      drained: { ...started(5_000), handled: 99 },
      wrong: 0,
    },
  },
  import: {
    package: bench(
      "import",
      [],
      [
        figure("node -e 0", 40, "ms of CPU time"),
        figure('import("percolatordb"), beyond node -e 0', 35, "ms of CPU time", 40),
        figure("percolator --help, beyond node -e 0", 160, "ms of CPU time", 150),
      ],
    ),
  },
  published: {
    keys: {
      keys: {
        options: { rows: 1_000, seconds: 1 },
        tests: ["write 1 random key", "write 10 random keys"].map((name) => ({
          name,
          unit: "writes",
          clients: 1,
          rate: rate(900),
          conflictShare: 0.01,
        })),
        wrong: 0,
      },
    },
    ycsb: {
      ycsb: {
        options: { records: 1_000, seconds: 1 },
        runs: ["uniform", "zipfian"].map((distribution) => ({
          workload: "A",
          distribution,
          clients: 100,
          rate: rate(5_000),
          conflictShare: 0.1,
        })),
        wrong: 0,
      },
    },
    nexmark: {
      nexmark: {
        options: { events: 1_000, seed: 1 },
        runs: [["q1"], ["q6"], ["q1", "q6"]].map((queries) => ({
          queries,
          seconds: 1,
          cpuSeconds: 1.5,
          runs: 920,
          lines: 920,
          wrong: 0,
        })),
      },
    },
  },
};
