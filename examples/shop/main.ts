/** An existing shop in PostgreSQL, with observers on its tables. See README.md. */
import { once } from "node:events";
import { type Database, open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import type { Pool } from "pg";
import { startPostgres } from "../support/postgres-server.js";
import { shopApp } from "./observers.js";
import { command, type Options, readOptions } from "./options.js";
import { CopyProgress } from "./progress.js";
import { serveShop } from "./serve.js";
import { connect, createShop, tellPurchasing } from "./sql.js";
import { type StormReport, storm } from "./storm.js";
import { attached } from "./tables.js";
import { verify } from "./verify.js";
import { WorkerProcesses } from "./workers.js";

const workers = 2;
const connections = 6;
const exitCodes = { same: 0, different: 1, interrupted: 130 } as const;

/** Aborted by the first Ctrl-C or SIGTERM. */
const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options.data !== undefined) return await run(options, options.data);
    const server = await startPostgres().catch((error: Error) => {
      return command.error(
        `error: ${error.message} Or give a database: --data postgres://USER@HOST/DATABASE.`,
      );
    });
    try {
      const host = encodeURIComponent(server.host);
      return await run(options, `postgres://${server.user}@/postgres?host=${host}`);
    } finally {
      await server.stop();
    }
  } catch (error) {
    if (interruption.signal.aborted) return exitCodes.interrupted;
    throw error;
  }
}

async function run(options: Options, location: string): Promise<number> {
  const pool = connect(location, connections + 2);
  try {
    const created = await timed(() => createShop(pool, options.orders));
    if (created.result) console.log(`A shop of ${options.orders} orders was made in ${created.seconds} s.`);
    await using db = await open(location, shopApp(tellPurchasing(pool)));
    await attachTables(db, attached);
    await using _workers = new WorkerProcesses(location, workers, console.log);
    const copied = await timed(async () => {
      using _progress = new CopyProgress(db, console.log);
      await db.drain({ signal: interruption.signal });
    });
    console.log(`Every row is copied and everything is derived after ${copied.seconds} s.`);
    if (options.storm > 0) {
      const seed = Date.now() % 2 ** 31;
      const milliseconds = options.storm * 1_000;
      const { signal } = interruption;
      report(await storm(pool, { milliseconds, seed, connections, signal }), options.storm);
      const after = await timed(() => db.drain({ signal: interruption.signal }));
      console.log(`Everything was up to date ${after.seconds} s after the storm.`);
    }
    let code: number = exitCodes.same;
    if (options.verify && !(await isEqual(db, pool))) code = exitCodes.different;
    if (options.serve && !interruption.signal.aborted) {
      await using server = await serveShop(db, options.port);
      console.log(`${server.url}customers?name=mil\n${server.url}dashboard/`);
      if (!interruption.signal.aborted) await once(interruption.signal, "abort");
    }
    return code;
  } finally {
    await pool.end();
  }
}

/** Prints what is compared, up to the first difference. */
async function isEqual(db: Database, pool: Pool): Promise<boolean> {
  for await (const { table, rows, difference } of verify(db, pool)) {
    if (difference !== undefined) {
      console.error(`${table}: ${difference}.`);
      return false;
    }
    console.log(`${table.padEnd(20)}${String(rows).padStart(9)} rows, equal`);
  }
  return true;
}

function report({ committed, refused }: StormReport, seconds: number): void {
  const total = [...committed.values()].reduce((sum, count) => sum + count, 0);
  console.log(`${total} SQL transactions in ${seconds} s by ${connections} connections, ${refused} refused:`);
  for (const [name, count] of committed) console.log(`  ${name.padEnd(46)}${String(count).padStart(6)}`);
}

async function timed<T>(run: () => Promise<T>): Promise<{ readonly result: T; readonly seconds: string }> {
  const began = performance.now();
  const result = await run();
  return { result, seconds: ((performance.now() - began) / 1_000).toFixed(1) };
}
