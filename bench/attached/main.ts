/** What attached SQL tables cost their writers: `npm run attached -- --help`. */
import { Pool } from "pg";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { type Database, open } from "../../src/index.js";
import { attachTables, copyTables, detachTable } from "../../src/postgres/index.js";
import { withChildren } from "../harness/child.js";
import { type CommonOptions, runProgram, sayProgress, whole } from "../harness/program.js";
import { type AttachedResult, type BulkRound, type Delays, describeAttached } from "./figure.js";
import { customers, declare, schema } from "./orders.js";
import type { WritersStart } from "./writers-process.js";

interface Options extends CommonOptions {
  readonly orders: number;
  readonly customers: number;
  readonly rate: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly bulk: number;
  readonly rest: number | undefined;
}

type Orders = ReturnType<typeof declare>["orders"];

await runProgram<Options, AttachedResult>({
  name: "attached",
  about:
    "Attaches a table of orders while SQL writes go on, and reports their delays before and meanwhile, how long the copy took, " +
    "and what triggers add to a bulk update. A PostgreSQL server must be installed; it is started in a temporary folder.",
  examples: [
    "attached",
    "attached -- --rounds 1",
    "attached -- --orders 10000 --seconds 5 --rounds 1 --json attached.json",
  ],
  wrongIf: "a derived row differs from the recomputation in SQL",
  define: (command) =>
    command
      .option("--orders <number>", "orders that exist before", whole, 100_000)
      .option("--customers <number>", "customers of the orders", whole, 5_000)
      .option("--rate <number>", "SQL writes a second", whole, 200)
      .option(
        "--seconds <number>",
        "seconds of writes before the table is attached, and at least after",
        whole,
        30,
      )
      .option("--rounds <number>", "bulk updates with and without triggers, in turns", whole, 5)
      .option("--bulk <number>", "rows of a bulk update", whole, 100_000)
      .option("--rest <number>", "`copyRest` of the table (default: that of `attach`)", whole),
  measure: async (options) => {
    const server = await startPostgres({ settings: ["shared_buffers=512MB"] });
    const pool = new Pool({ host: server.host, user: server.user, database: "postgres", max: 20 });
    // The errors of connections that end with their server. Failed queries reject anyway.
    pool.on("error", () => undefined);
    try {
      return await measure(options, server, pool);
    } finally {
      await pool.end();
      await server.stop();
    }
  },
  describe: describeAttached,
  isRight: ({ wrong }) => wrong === 0,
});

async function measure(
  options: Options,
  { host, user }: PostgresServer,
  pool: Pool,
): Promise<AttachedResult> {
  await pool.query(schema);
  const fill = `insert into shop.orders select i, i % ${options.customers}, i % 97, 'note ' || i from generate_series(1, $1::int) i`;
  await pool.query(fill, [options.orders]);
  await pool.query("vacuum analyze shop.orders");
  const location = `postgres://postgres@/postgres?${new URLSearchParams({ host, schema: "derived" })}`;
  const { orders, observers, tables } = declare(options.rest);
  await using db = await open(location, { tables, observers });
  const bulk = await measureBulk(options, db, pool, orders);
  return await withChildren(async (start) => {
    const writers = start(new URL("writers-process.ts", import.meta.url), "SQL writers");
    await writers.ask("open", { host, user, ...options } satisfies WritersStart);
    const writeDuring = async (work: Promise<unknown>) => {
      const delays = writers.ask<Delays>("during", options.seconds * 1_000);
      // A failed work is thrown when the writes have ended.
      await work.catch(() => undefined);
      await writers.ask("end");
      const [, written] = await Promise.all([work, delays]);
      return written;
    };
    sayProgress("SQL writes without triggers");
    const before = await writeDuring(Promise.resolve());
    sayProgress("attaching");
    const began = performance.now();
    await attachTables(db, [orders]);
    const worker = db.work();
    let copyMs = 0;
    const copying = copyTables(db, [orders]).then(() => {
      copyMs = performance.now() - began;
    });
    const during = await writeDuring(copying);
    const last = performance.now();
    await db.drain();
    const drainMs = performance.now() - last;
    await worker.stop();
    sayProgress("comparing");
    return { bulk, before, during, copyMs, drainMs, wrong: await countWrong(db, pool) };
  });
}

async function measureBulk(
  options: Options,
  db: Database,
  pool: Pool,
  orders: Orders,
): Promise<readonly BulkRound[]> {
  const rounds: BulkRound[] = [];
  const update = async () => {
    await pool.query("vacuum shop.orders");
    await pool.query("checkpoint");
    const began = performance.now();
    await pool.query("update shop.orders set total = total + 1 where id <= $1", [options.bulk]);
    return performance.now() - began;
  };
  for (let round = 0; round < options.rounds; round++) {
    sayProgress(`bulk update ${round + 1} of ${options.rounds}`);
    const plainMs = await update();
    await attachTables(db, [orders]);
    const attachedMs = await update();
    await detachTable(db, orders);
    rounds.push({ plainMs, attachedMs });
  }
  return rounds;
}

async function countWrong(db: Database, pool: Pool): Promise<number> {
  const { rows } = await pool.query(
    "select customer, sum(total) as revenue from shop.orders group by customer",
  );
  const expected = new Map(rows.map(({ customer, revenue }) => [customer as number, revenue as number]));
  let wrong = 0;
  await using snapshot = await db.snapshot();
  for await (const { row, value } of snapshot.scan(customers.revenue)) {
    // A customer without orders is left with nothing.
    if (value !== (expected.get(row[0]) ?? 0)) wrong++;
    expected.delete(row[0]);
  }
  return wrong + expected.size;
}
