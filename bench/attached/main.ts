/** What attached SQL tables cost their writers: `npm run attached -- --help`. */
import { Pool } from "pg";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { type Database, open } from "../../src/index.js";
import { attachedTables, attachTables, detachTable } from "../../src/postgres/index.js";
import { withChildren } from "../harness/child.js";
import { type CommonOptions, runProgram, sayProgress, whole } from "../harness/program.js";
import { type AttachedResult, type BulkRound, delaysOf, describeAttached } from "./figure.js";
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
  readonly concurrency: number | undefined;
}

/** A turn of writes: longer than what one chunk of a copy and its rest take. */
const turnMs = 5_000;
/** Between two looks whether the worker has caught up. */
const catchUpMs = 500;

type Orders = ReturnType<typeof declare>["orders"];

await runProgram<Options, AttachedResult>({
  name: "attached",
  about:
    "Attaches a table of orders while SQL writes go on, and reports their delays with and without a worker in turns, how long the copy took, " +
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
        "seconds of writes before the table is attached, and after it is copied",
        whole,
        30,
      )
      .option("--rounds <number>", "bulk updates with and without triggers, in turns", whole, 5)
      .option("--bulk <number>", "rows of a bulk update", whole, 100_000)
      .option("--rest <number>", "`copyRest` of the table (default: that of `attach`)", whole)
      .option("--concurrency <number>", "`concurrency` of the worker (default: that of `db.work`)", whole),
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
    const write = async (ms: number): Promise<readonly number[]> => {
      const delays = writers.ask<readonly number[]>("during", ms);
      await writers.ask("end");
      return await delays;
    };
    const isCopied = async () => (await attachedTables(db)).every(({ copy }) => copy.phase === "done");
    /** Writes until the worker has caught up with the changes of the turn without one. */
    const catchUp = async () => {
      const isBehind = async () =>
        (await attachedTables(db)).some(({ pending }) => pending > options.rate / 2);
      while (await isBehind()) await write(catchUpMs);
    };
    let copyMs = 0;
    /** Writes in turns with a worker and without one. What else the machine does then hits both. */
    const inTurns = async (isOver: (turns: number) => boolean | Promise<boolean>) => {
      const [working, idle]: [(readonly number[])[], (readonly number[])[]] = [[], []];
      for (let turns = 0; !(await isOver(turns)); turns++) {
        const began = performance.now();
        const worker = db.work({ concurrency: options.concurrency });
        await catchUp();
        working.push(await write(turnMs));
        await worker.stop();
        copyMs += performance.now() - began;
        idle.push(await write(turnMs));
      }
      return [delaysOf(working), delaysOf(idle)] as const;
    };
    sayProgress("SQL writes without triggers");
    const before = delaysOf([await write(options.seconds * 1_000)]);
    await attachTables(db, [orders]);
    sayProgress("copying");
    const [copying, copyingIdle] = await inTurns(isCopied);
    const copiedMs = copyMs;
    sayProgress("following");
    const count = Math.ceil((options.seconds * 1_000) / turnMs);
    const [steady, steadyIdle] = await inTurns((turns) => turns >= count);
    const last = performance.now();
    await db.drain();
    const drainMs = performance.now() - last;
    sayProgress("comparing");
    const wrong = await countWrong(db, pool);
    return { bulk, before, copying, copyingIdle, steady, steadyIdle, copyMs: copiedMs, drainMs, wrong };
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
