import { open } from "percolatordb";
import { startPostgres } from "../../examples/support/postgres-server.js";
import type { Comparison } from "../harness/compare.js";
import { postmasterOf } from "../postgres/server.js";
import { type Bench, type BenchCase, figureOf } from "./bench.js";
import { postgresDelayMs } from "./floors.js";
import { delaysToProcess } from "./postgres-delay.js";
import { RawPostgres } from "./postgres-raw.js";
import { documents, PostgresCells } from "./postgres-specs.js";

const maxCells = 50_000;
const everyMs = 100;

/**
 * PostgreSQL as the store, compared with the same server used directly. The server is started for
 * this case and flushes each commit. It runs on the same processors as this process.
 */
export const postgres: BenchCase = {
  name: "postgres",
  about:
    "transactions, gathered reads and scans on a PostgreSQL server of its own, beside plain pg; " +
    "and the delay to an observer in another process",
  async run(bench) {
    const server = await startPostgres({ settings: ["shared_buffers=512MB"] });
    try {
      const { comparisons, configuration } = await compareAll(bench, server.host);
      bench.say("delay from a commit to its observer's commit in another process");
      const samples = bench.options.quick ? 20 : 300;
      const delays = await delaysToProcess(locationOf(server.host, "delay"), { samples, everyMs });
      const name = "commit to its observer's commit in another process, on PostgreSQL";
      return { comparisons, figures: [figureOf(name, "ms", delays, postgresDelayMs)], configuration };
    } finally {
      await server.stop();
    }
  },
};

function locationOf(host: string, schema: string): string {
  return `postgres://postgres@/postgres?${new URLSearchParams({ host, schema })}`;
}

async function compareAll(bench: Bench, host: string) {
  const raw = await RawPostgres.open(host, "raw");
  try {
    await using db = await open(locationOf(host, "bench"), { tables: [documents] });
    const configuration = await raw.configuration();
    const cells = new PostgresCells(db, raw, Math.min(bench.options.cells, maxCells));
    bench.say(`loading ${cells.rows.length} cells`);
    await cells.load();
    const specs = [
      cells.transactions({ cells: 1, width: 1_000, wanted: 20_000 }),
      cells.transactions({ cells: 10, width: 200, wanted: 2_000 }),
      cells.reads({ wanted: 20_000, width: 1_000 }),
      cells.manyReads(20_000),
      cells.scans(20_000),
    ];
    const comparisons: Comparison[] = [];
    const servers = [postmasterOf({ host })];
    for (const spec of specs) comparisons.push(await bench.compare({ ...spec, servers }));
    bench.say("reading everything back");
    await cells.verify();
    return { comparisons, configuration };
  } finally {
    await raw.close();
  }
}
