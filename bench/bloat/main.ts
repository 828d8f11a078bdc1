/** Size of a database on PostgreSQL under constant updates: `npm run bloat -- --help`. */
import { open } from "percolatordb";
import { Pool } from "pg";
import { startPostgres } from "../../examples/support/postgres-server.js";
import { pause } from "../harness/pause.js";
import { between, type CommonOptions, runProgram, sayProgress, whole } from "../harness/program.js";
import { documents, observersOf } from "../load/documents.js";
import { Load } from "../load/load.js";
import {
  type BloatResult,
  type BloatSample,
  bloatOf,
  describeBloat,
  isFlat,
  type TableSample,
} from "./verdict.js";

interface Options extends CommonOptions {
  readonly minutes: number;
  readonly every: number;
  readonly rows: number;
  readonly bytes: number;
  readonly rate: number;
  readonly retention: number;
}

const schema = "percolator";
const user = "postgres";

await runProgram<Options, BloatResult>({
  name: "bloat",
  about:
    "Size of a database on PostgreSQL under constant updates of the same rows, with an observer and collection running: starts a server of its own with default settings.",
  examples: ["bloat", "bloat -- --minutes 60 --json bloat.json"],
  wrongIf:
    "the cells grow by more than 10 % in the second half, another table takes more than 1 MiB, an update is lost or a check finds a problem",
  define: (command) =>
    command
      .option("--minutes <number>", "minutes that are sampled", between(0, 24 * 60), 60)
      .option("--every <number>", "seconds between samples", between(0, 3_600), 10)
      .option("--rows <number>", "rows that are updated, over and over", whole, 5_000)
      .option("--bytes <number>", "bytes of a value", whole, 200)
      .option("--rate <number>", "updates a second", whole, 200)
      .option("--retention <number>", "seconds for which old versions are kept", whole, 30),
  measure,
  describe: describeBloat,
  isRight: (result) => isFlat(result) && result.wrong === 0 && result.problems === 0,
});

async function measure({ json: _, data: __, args: ___, ...options }: Options): Promise<BloatResult> {
  const { minutes, every, retention, ...load } = options;
  const server = await startPostgres();
  const pool = new Pool({ host: server.host, user, database: "postgres", max: 1 });
  try {
    const version = (await pool.query<{ readonly version: string }>("select version()")).rows[0]!.version;
    const retentionMs = retention * 1_000;
    const parameters = new URLSearchParams({ host: server.host, schema });
    await using db = await open(`postgres://${user}@/postgres?${parameters}`, {
      tables: [documents],
      observers: observersOf(),
      retentionMs,
      collectEveryMs: retentionMs,
    });
    let collections = 0;
    db.on("collect", () => {
      collections++;
    });
    const updates = new Load(db, load);
    const worker = db.work();
    updates.start();
    const began = performance.now();
    const seconds = () => (performance.now() - began) / 1_000;
    const samples: BloatSample[] = [];
    for (let due = every; samples.length === 0 || due <= minutes * 60; due += every) {
      await pause(Math.max(0, (due - seconds()) * 1_000));
      samples.push({ at: seconds(), updates: updates.updates, tables: await tablesOf(pool) });
      sayProgress(`minute ${(due / 60).toFixed(1)} of ${minutes}`);
    }
    await updates.stop();
    await db.idle();
    await worker.stop();
    const problems = (await db.check()).length;
    const wrong = (await updates.wrong()).length;
    return { options, server: version, ...bloatOf(samples), samples, collections, wrong, problems };
  } finally {
    await pool.end();
    await server.stop();
  }
}

async function tablesOf(pool: Pool): Promise<Readonly<Record<string, TableSample>>> {
  const { rows } = await pool.query<Record<keyof TableSample | "name", string>>(
    `select relname as name, pg_table_size(relid) as bytes, pg_indexes_size(relid) as "indexBytes",
       n_dead_tup as dead, autovacuum_count as vacuums
     from pg_stat_user_tables where schemaname = $1`,
    [schema],
  );
  return Object.fromEntries(
    rows.map(({ name, bytes, indexBytes, dead, vacuums }) => [
      name,
      {
        bytes: Number(bytes),
        indexBytes: Number(indexBytes),
        dead: Number(dead),
        vacuums: Number(vacuums),
      },
    ]),
  );
}
