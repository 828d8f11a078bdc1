/** The web index over PostgreSQL and graphile-worker, each observer a job. `main.ts [--workers N] [--concurrency N] SOURCE...` */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runMigrations } from "graphile-worker";
import { Pool } from "pg";
import { startPostgres } from "../../examples/postgres-export/testing/server.js";
import { openSource } from "../../examples/webindex/sources/index.js";
import { compareWithTwin } from "../../examples/webindex/twin/compare.js";
import { loadPages } from "./load.js";
import { schema, settings } from "./schema.js";
import { asSnapshot } from "./tables.js";

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const { values, positionals } = parseArgs({
  options: {
    workers: { type: "string", default: "1" },
    concurrency: { type: "string", default: "16" },
  },
  allowPositionals: true,
});

async function startWorker(host: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL("worker.ts", import.meta.url));
  const child = fork(script, [host, values.concurrency], { execArgv: ["--import", "tsx"] });
  await new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", (code) => reject(new Error(`A worker ended with code ${code}.`)));
  });
  return child;
}

async function stopWorker(child: ChildProcess): Promise<unknown> {
  const counts = new Promise((resolve) =>
    child.on("message", (message) => {
      if ((message as { counts?: unknown }).counts !== undefined) resolve(message);
    }),
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.send("stop");
  const told = await counts;
  await ended;
  return told;
}

async function settled(pool: Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ exists: boolean }>(
      "select exists (select 1 from graphile_worker._private_jobs)",
    );
    if (!rows[0]!.exists) return;
    await pause(20);
  }
}

const server = await startPostgres({ settings });
const pool = new Pool({ host: server.host, user: server.user, database: "postgres", max: 8 });
await runMigrations({ pgPool: pool });
await pool.query(schema);
const workers = await Promise.all(
  Array.from({ length: Number(values.workers) }, () => startWorker(server.host)),
);
let wrong = 0;
for (const path of positionals) {
  const began = performance.now();
  const loaded = await loadPages(pool, await openSource(path));
  const loadedMs = performance.now() - began;
  await settled(pool);
  const ms = performance.now() - began;
  console.log(
    path.split("/").at(-1),
    loaded,
    `${(loadedMs / 1_000).toFixed(1)} s loading, ${(ms / 1_000).toFixed(1)} s in all`,
  );
  console.log(`${((loaded.pages / ms) * 1_000).toFixed(1)} pages/s`);
  for (const { table, rows, cells, different, differences } of await compareWithTwin(asSnapshot(pool))) {
    console.log(`  ${table}: ${rows} rows, ${cells} cells, ${different} different`, ...differences);
    wrong += different;
  }
}
for (const worker of workers) console.log(JSON.stringify(await stopWorker(worker)));
await pool.end();
await server.stop();
process.exitCode = wrong === 0 ? 0 : 1;
