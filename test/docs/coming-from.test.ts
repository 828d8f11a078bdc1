import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { Logger, runMigrations, runOnce, type TaskList } from "graphile-worker";
import { type AnyTable, type Observer, open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { Pool } from "pg";
import PgBoss from "pg-boss";
import { afterAll, expect, test } from "vitest";
import { newPlace, withSuperuser } from "../support/postgres/index.js";
import { compilerErrors } from "./compile.js";
import { blocksOf, generate, place, root } from "./examples.js";

/** Runs the programs of docs/coming-from.md at the same time on one database, and compares them. */

const page = "docs/coming-from.md";
const blocks = blocksOf(await readFile(join(root, page), "utf8"));

function blockOf(heading: string, language: string): string {
  const found = blocks.find((block) => block.heading === heading && block.language === language);
  if (found === undefined) throw new Error(`${page} has no block of ${language} under "${heading}".`);
  return found.body;
}

/** The mail service of the page: it keeps what it was told, without repeated keys. */
const mailService = `
export const sent = new Map<string, number>();
export async function sendMail(mail: { readonly order: number; readonly idempotencyKey: string }): Promise<void> {
  if (!sent.has(mail.idempotencyKey)) sent.set(mail.idempotencyKey, mail.order);
}
`;

interface Mails {
  readonly sent: ReadonlyMap<string, number>;
}

interface Ours {
  readonly attached: readonly AnyTable[];
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
}

/** Another system of the page, which runs its program. */
interface Rival {
  readonly sent: Mails["sent"];
  /** Creates its tables, and starts its workers. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Adds the job of a customer whose orders are older than the trigger. */
  add(customer: string): Promise<unknown>;
  /** Works if no worker does, and returns the number of jobs that are not done. */
  unfinished(): Promise<number>;
  /** While it is stopped: leaves the one job as a worker does that was killed while it ran it. */
  kill(): Promise<void>;
  /** How many jobs a dead worker keeps from running, and whether the customer's total is out of date for so long. */
  readonly dead: { readonly jobs: number; readonly isStale: boolean };
  /** What has to happen until the jobs of dead workers run again. */
  recover(): Promise<void>;
  /** What the page says of it, besides. */
  check(): Promise<void>;
}

/** Writes a section's program, with a mail service of its own. */
async function programOf(side: string) {
  const mails = await generate({ file: `mail-${side}.ts`, code: mailService });
  const code = blockOf(`With ${side}`, "ts").replace("./mail.js", `./mail-${side}.js`);
  return { mails, path: await generate({ file: `coming-from-${side}.ts`, code }) };
}

/** Loads a section's program, and what its mail service was told. */
async function load<Exports>(side: string) {
  const { mails, path } = await programOf(side);
  const { sent } = (await import(/* @vite-ignore */ mails)) as Mails;
  return { sent, exports: (await import(/* @vite-ignore */ path)) as Exports };
}

const count = async (pool: Pool, query: string) => Number((await pool.query(query)).rows[0].count);

async function graphileWorker(pool: Pool): Promise<Rival> {
  const { sent, exports } = await load<{ readonly taskList: TaskList }>("graphile-worker");
  const { taskList } = exports;
  const jobs = "graphile_worker._private_jobs";
  const lock = (value: string) =>
    pool.query(
      `with queues as (
         update graphile_worker._private_job_queues set ${value} where queue_name = 'total:eve' returning id
       )
       update ${jobs} set ${value} where job_queue_id in (select id from queues)`,
    );
  return {
    sent,
    start: () => runMigrations({ pgPool: pool }),
    stop: () => Promise.resolve(),
    add: (customer) =>
      pool.query("select graphile_worker.add_job('customer_total', $1)", [JSON.stringify({ customer })]),
    async unfinished() {
      await runOnce({ pgPool: pool, taskList, logger: new Logger(() => () => undefined) });
      return count(pool, `select count(*) from ${jobs} where attempts < max_attempts`);
    },
    async kill() {
      await lock("locked_at = now(), locked_by = 'dead'");
    },
    dead: { jobs: 1, isStale: true },
    async recover() {
      // As its maintenance does after 4 hours.
      await lock("locked_at = null, locked_by = null");
    },
    async check() {
      // A worker takes a customer's waiting job while a writer adds another: the writer's job is there afterwards.
      await pool.query("update orders set total_cents = 9 where id = 4");
      const worker = await pool.connect();
      try {
        await worker.query("begin");
        await worker.query(`update ${jobs} set locked_at = now(), locked_by = 'w' where key = 'total:eve'`);
        const writing = pool.query("update orders set total_cents = 10 where id = 4");
        const waiting = `select from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock' and query like 'update orders%'`;
        await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1);
        await worker.query("commit");
        await writing;
        expect(await count(pool, `select count(*) from ${jobs} where locked_at is null`)).toBe(1);
        await worker.query(`update ${jobs} set locked_at = null, locked_by = null`);
      } finally {
        worker.release();
      }
    },
  };
}

async function pgBoss(pool: Pool): Promise<Rival> {
  const { sent, exports } = await load<{ work(boss: PgBoss): Promise<void> }>("pg-boss");
  // Its clock is left out: the test calls what its maintenance would call.
  const clockless = { supervise: false, schedule: false };
  const db = { executeSql: (text: string, values: unknown[]) => pool.query(text, values) };
  const idle = new PgBoss({ db, ...clockless });
  const ofQueues = "from pgboss.job where name in ('customer_total', 'confirm')";
  let boss: PgBoss | undefined;
  const start = () => {
    boss = new PgBoss({ db, ...clockless, pollingIntervalSeconds: 0.5 });
    return exports.work(boss);
  };
  const stop = async () => boss?.stop();
  return {
    sent,
    start,
    stop,
    add: (customer) => boss!.send("customer_total", { customer }),
    unfinished: () => count(pool, `select count(*) ${ofQueues} and state < 'completed'`),
    async kill() {
      expect(await idle.fetch("customer_total")).toHaveLength(1);
    },
    dead: { jobs: 1, isStale: false },
    async recover() {
      await idle.expire();
      expect(await count(pool, `select count(*) ${ofQueues} and state = 'active'`)).toBe(1);
      await pool.query(
        "update pgboss.job set started_on = started_on - interval '15 minutes' where state = 'active'",
      );
      await idle.expire();
    },
    async check() {
      await idle.start();
      const insert = (name: string, key: string) =>
        `insert into pgboss.job (name, singleton_key, policy) select name, '${key}', policy from pgboss.queue
         where name = '${name}' on conflict do nothing`;
      // A job that began before a change, and waits for another one, has the change in its sum.
      await stop();
      const first = await pool.connect();
      try {
        await first.query("begin; select refresh_total('eve')");
        const second = pool.query("select refresh_total('eve')");
        const waiting = `select from pg_stat_activity where datname = current_database()
          and wait_event = 'advisory' and query like 'select refresh_total%'`;
        await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1);
        await pool.query("update orders set total_cents = 11 where id = 4");
        await first.query("commit");
        await second;
      } finally {
        first.release();
      }
      expect(await count(pool, "select cents as count from customer_totals where customer = 'eve'")).toBe(11);
      await start();
      // Policy `short` merges waiting jobs: a worker takes the job that a writer's was merged into, before it commits.
      await idle.createQueue("merged", { name: "merged", policy: "short" });
      await pool.query(insert("merged", "eve"));
      const writer = await pool.connect();
      try {
        await writer.query("begin");
        expect((await writer.query(insert("merged", "eve"))).rowCount).toBe(0);
        const [job] = await idle.fetch("merged");
        await idle.complete("merged", job!.id);
        await writer.query("commit");
      } finally {
        writer.release();
      }
      expect(await idle.fetch("merged")).toEqual([]);
      // Policy `singleton` lets one job of a key run: the next one of the key stands before those of other keys.
      await idle.createQueue("single", { name: "single", policy: "singleton" });
      for (const key of ["eve", "eve", "bob"]) await pool.query(insert("single", key));
      // It fetches in the order of clock times. A clock that was set back must not change it.
      await pool.query(
        `update pgboss.job set start_after = now() - interval '1 hour', created_on = now() -
           case singleton_key when 'eve' then interval '2 minutes' else interval '1 minute' end
         where name = 'single'`,
      );
      expect(await idle.fetch("single")).toHaveLength(1);
      expect(await idle.fetch("single")).toEqual([]);
      // The server reports an error before it frees the rows of the failed statement, which a fetch would pass over.
      await pool.query("select from pgboss.job where name = 'single' for update");
      expect(await idle.fetch("single", { batchSize: 10 })).toEqual([]);
      // A row that SQL inserts has the defaults of the table.
      await idle.createQueue("patient", { name: "patient", retryLimit: 50, expireInSeconds: 3600 });
      await idle.send("patient", {});
      await pool.query("insert into pgboss.job (name) values ('patient')");
      const { rows } = await pool.query(
        `select retry_limit, extract(epoch from expire_in)::int as seconds from pgboss.job
         where name = 'patient' order by retry_limit`,
      );
      expect(rows).toEqual([
        { retry_limit: 2, seconds: 900 },
        { retry_limit: 50, seconds: 3600 },
      ]);
    },
  };
}

async function dbos(pool: Pool): Promise<Rival> {
  const { sent, exports } = await load<{ work(pool: Pool): Promise<void> }>("DBOS");
  const workflows = "dbos.workflow_status";
  const inState = (...states: readonly string[]) =>
    count(
      pool,
      `select count(*) from ${workflows} where status in (${states.map((each) => `'${each}'`).join()})`,
    );
  const launch = async (applicationVersion: string) => {
    await DBOS.shutdown({ workflowCompletionTimeoutMS: 60_000 });
    DBOS.setConfig({
      name: "shop",
      systemDatabasePool: pool,
      executorID: "dead",
      applicationVersion,
      logLevel: "error",
    });
    await DBOS.launch();
  };
  return {
    sent,
    async start() {
      await exports.work(pool);
      for (const name of ["customer_total", "confirm"])
        await (await DBOS.retrieveQueue(name))!.setMinPollingIntervalMs(20);
    },
    stop: () => DBOS.shutdown({ workflowCompletionTimeoutMS: 60_000, deregister: true }),
    add: (customer) =>
      pool.query(
        `select dbos.enqueue_workflow('customer_total', 'customer_total', array[to_json($1::text)],
           queue_partition_key => $1)`,
        [customer],
      ),
    unfinished: () => inState("ENQUEUED", "DELAYED", "PENDING"),
    async kill() {
      await pool.query(
        `update ${workflows} set status = 'PENDING', executor_id = 'dead', application_version = '1',
           application_name = 'shop', recovery_attempts = 1 where status = 'ENQUEUED'`,
      );
    },
    dead: { jobs: 2, isStale: true },
    async recover() {
      // The process's restart with another version of the program leaves it, and with the same one runs it.
      await launch("2");
      expect(await inState("PENDING")).toBe(1);
      await launch("1");
      // A workflow that names no version, as those of the trigger, runs in the newest one.
      await expect.poll(() => inState("ENQUEUED", "PENDING"), { interval: 20 }).toBe(1);
      expect(await inState("ENQUEUED")).toBe(1);
      await launch("2");
    },
    async check() {
      // An id for deduplication is no way to merge: the second writer fails.
      const enqueue = "select dbos.enqueue_workflow('none', 'none', deduplication_id => 'eve')";
      const writer = await pool.connect();
      try {
        await writer.query("begin");
        await writer.query(enqueue);
        await expect(writer.query(enqueue)).rejects.toThrow("DBOS queue duplicated");
        await writer.query("rollback");
      } finally {
        writer.release();
      }
    },
  };
}

const rivals = { "graphile-worker": graphileWorker, "pg-boss": pgBoss, DBOS: dbos };

afterAll(() => rm(place, { recursive: true, force: true }));

test("the programs compile in strict mode", async () => {
  const programs = await Promise.all([...Object.keys(rivals), "percolatordb"].map(programOf));
  const paths = programs.map(({ path }) => path);
  expect(compilerErrors(join(root, "tsconfig.json"), paths)).toEqual([]);
});

test("all keep the same totals and send the same mails; the job of a dead worker waits", async () => {
  const { host } = await newPlace();
  const name = `coming_from_${process.pid}`;
  await withSuperuser(host, (superuser) => superuser.query(`create database ${name}`));
  const pools: Pool[] = [];
  const connect = (path: string) => {
    const options = `-c search_path=${path}`;
    const pool = new Pool({ host, user: "postgres", database: name, max: 8, options });
    pool.on("error", () => undefined);
    pools.push(pool);
    return pool;
  };
  const pool = connect("public");
  const sides: (Rival & { readonly name: string; readonly pool: Pool })[] = [];
  try {
    await pool.query(blockOf("The same task", "sql"));
    // An order from before: no trigger sees it.
    await pool.query("insert into orders values (1, 'ann', 500, '2020-02-02')");

    // Each has the totals and the trigger's function in a schema of its own.
    for (const [index, [name, make]] of Object.entries(rivals).entries()) {
      const schema = `side_${index}`;
      await pool.query(`create schema ${schema}`);
      await pool.query(`create table ${schema}.customer_totals (like customer_totals including all)`);
      const own = connect(`${schema},public`);
      const side = { name, pool: own, ...(await make(own)) };
      sides.push(side);
      await side.start();
      await own.query(blockOf(`With ${name}`, "sql").replace("create trigger order_changed", `$&_${index}`));
      await side.add("ann");
    }
    const { sent, exports } = await load<Ours>("percolatordb");
    const { attached, tables, observers } = exports;
    const location = `postgres://postgres@/${name}?host=${encodeURIComponent(host)}`;
    await using db = await open(location, { tables, observers });
    await attachTables(db, attached);

    const ourTotals = async () => {
      await db.drain();
      const totals = tables.find((each) => "cents" in each && !("stale" in each))!;
      await using view = await db.snapshot();
      const found: Record<string, number> = {};
      for await (const { row, value } of view.scan(totals as never) as AsyncIterable<{
        row: string;
        value: { cents: number };
      }>) {
        if (value.cents !== 0) found[row] = value.cents;
      }
      return found;
    };
    const totalsOf = async (side: { readonly pool: Pool }) => {
      const query = "select customer, cents::int from customer_totals where cents <> 0";
      return Object.fromEntries((await side.pool.query(query)).rows.map((row) => [row.customer, row.cents]));
    };
    const compare = async () => {
      const found = await ourTotals();
      for (const side of sides) {
        await expect.poll(() => side.unfinished(), { interval: 20, message: side.name }).toBe(0);
        expect(await totalsOf(side), side.name).toEqual(found);
        expect([...side.sent].sort(), side.name).toEqual([...sent].sort());
      }
      return found;
    };

    expect(await compare()).toEqual({ ann: 500 });
    expect(sent.size).toBe(0);

    for (const statement of [
      "insert into orders (id, customer, total_cents) values (2, 'ann', 70), (3, 'bob', 30)",
      "update orders set total_cents = total_cents + 1",
      "update orders set customer = 'bob' where id = 2",
      "delete from orders where id = 3",
      "begin; insert into orders (id, customer, total_cents) values (9, 'bob', 1); rollback",
      "begin; savepoint a; insert into orders (id, customer, total_cents) values (9, 'bob', 1); rollback to a; commit",
      "insert into orders (id, customer, total_cents) values (4, 'eve', 8) on conflict (id) do update set total_cents = 1",
    ]) {
      await pool.query(statement);
      await compare();
    }
    expect([...sent.values()].sort()).toEqual([2, 3, 4]);

    for (const side of sides) await side.check();
    await compare();

    // The workers begin the job of a change, and are killed.
    for (const side of sides) await side.stop();
    await pool.query("update orders set total_cents = 1000 where id = 4");
    for (const side of sides) {
      await side.kill();
      await side.start();
    }
    // Later changes of this customer and of another one.
    await pool.query("update orders set total_cents = 1001 where id = 4");
    await pool.query("update orders set total_cents = 72 where id = 2");
    expect(await ourTotals()).toEqual({ ann: 501, bob: 72, eve: 1001 });
    for (const side of sides) {
      await expect.poll(() => side.unfinished(), { interval: 20, message: side.name }).toBe(side.dead.jobs);
      const eve = side.dead.isStale ? 11 : 1001;
      expect(await totalsOf(side), side.name).toEqual({ ann: 501, bob: 72, eve });
    }
    for (const side of sides) await side.recover();
    expect(await compare()).toEqual({ ann: 501, bob: 72, eve: 1001 });
  } finally {
    for (const side of sides) await side.stop();
    for (const each of pools) await each.end();
    await withSuperuser(host, (superuser) => superuser.query(`drop database ${name} with (force)`));
  }
});
