import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Logger, runMigrations, runOnce, type TaskList } from "graphile-worker";
import { type AnyTable, type Observer, open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { Pool } from "pg";
import { afterAll, expect, test } from "vitest";
import { newPlace, withSuperuser } from "../support/postgres/index.js";
import { compilerErrors } from "./compile.js";
import { blocksOf, generate, place, root } from "./examples.js";

/** Runs the two programs of docs/coming-from.md at the same time on one database, and compares them. */

const page = "docs/coming-from.md";
const blocks = blocksOf(await readFile(join(root, page), "utf8"));

function blockOf(heading: string, language: string): string {
  const found = blocks.find((block) => block.heading === heading && block.language === language);
  if (found === undefined) throw new Error(`${page} has no block of ${language} under "${heading}".`);
  return found.body;
}

/** The mail service of the page: it keeps what it was told, without repeated keys. */
const mailService = (name: string) => `
export const sent = new Map<string, number>();
export async function sendMail(mail: { readonly order: number; readonly idempotencyKey: string }): Promise<void> {
  if (!sent.has(mail.idempotencyKey)) sent.set(mail.idempotencyKey, mail.order);
}
export const name = "${name}";
`;

interface Mails {
  readonly sent: ReadonlyMap<string, number>;
}

interface Ours {
  readonly attached: readonly AnyTable[];
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
}

async function programs() {
  const write = async (side: string, heading: string) => {
    const mails = await generate({ file: `mail-${side}.ts`, code: mailService(side) });
    const code = blockOf(heading, "ts").replace("./mail.js", `./mail-${side}.js`);
    return { mails, program: await generate({ file: `coming-from-${side}.ts`, code }) };
  };
  return {
    theirs: await write("theirs", "With graphile-worker"),
    ours: await write("ours", "With percolatordb"),
  };
}

afterAll(() => rm(place, { recursive: true, force: true }));

test("both programs compile in strict mode", async () => {
  const { theirs, ours } = await programs();
  expect(compilerErrors(join(root, "tsconfig.json"), [theirs.program, ours.program])).toEqual([]);
});

test("both keep the same totals and send the same mails; only ours runs what a dead worker had begun", async () => {
  const { host } = await newPlace();
  const name = `coming_from_${process.pid}`;
  await withSuperuser(host, (pool) => pool.query(`create database ${name}`));
  const pool = new Pool({ host, user: "postgres", database: name, max: 4 });
  pool.on("error", () => undefined);
  const { theirs, ours } = await programs();
  const { taskList } = (await import(/* @vite-ignore */ theirs.program)) as { taskList: TaskList };
  const { attached, tables, observers } = (await import(/* @vite-ignore */ ours.program)) as Ours;
  const sentByTheirs = ((await import(/* @vite-ignore */ theirs.mails)) as Mails).sent;
  const sentByOurs = ((await import(/* @vite-ignore */ ours.mails)) as Mails).sent;
  const runJobs = () => runOnce({ pgPool: pool, taskList, logger: new Logger(() => () => undefined) });
  try {
    await pool.query(blockOf("The same task", "sql"));
    await runMigrations({ pgPool: pool });
    const location = `postgres://postgres@/${name}?host=${encodeURIComponent(host)}`;
    await using db = await open(location, { tables, observers });
    const totals = tables.find((each) => "cents" in each && !("stale" in each))!;

    const compare = async () => {
      await runJobs();
      await db.drain();
      const { rows } = await pool.query("select customer, cents::int from customer_totals where cents <> 0");
      await using view = await db.snapshot();
      const found: Record<string, number> = {};
      for await (const { row, value } of view.scan(totals as never) as AsyncIterable<{
        row: string;
        value: { cents: number };
      }>) {
        if (value.cents !== 0) found[row] = value.cents;
      }
      expect(found).toEqual(Object.fromEntries(rows.map(({ customer, cents }) => [customer, cents])));
      expect([...sentByOurs].sort()).toEqual([...sentByTheirs].sort());
      return found;
    };

    // An order from before: the trigger does not see it, so it gets a job of its own. It gets no mail.
    await pool.query("insert into orders values (1, 'ann', 500, '2020-02-02')");
    await pool.query(blockOf("With graphile-worker", "sql"));
    await pool.query("select graphile_worker.add_job('customer_total', '{\"customer\": \"ann\"}')");
    await attachTables(db, attached);
    expect(await compare()).toEqual({ ann: 500 });
    expect(sentByOurs.size).toBe(0);

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
    expect([...sentByOurs.values()].sort()).toEqual([2, 3, 4]);

    // A worker takes a customer's waiting job while a writer adds another: the writer's job is there afterwards.
    await pool.query("update orders set total_cents = 9 where id = 4");
    const worker = await pool.connect();
    try {
      await worker.query("begin");
      await worker.query(
        "update graphile_worker._private_jobs set locked_at = now(), locked_by = 'w' where key = 'total:eve'",
      );
      const writing = pool.query("update orders set total_cents = 10 where id = 4");
      const waiting =
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(1);
      await worker.query("commit");
      await writing;
      const free = "select from graphile_worker._private_jobs where locked_at is null";
      expect((await pool.query(free)).rowCount).toBe(1);
      await worker.query("update graphile_worker._private_jobs set locked_at = null, locked_by = null");
    } finally {
      worker.release();
    }
    await compare();

    // A worker of graphile-worker that was killed leaves its job locked.
    await pool.query("update orders set total_cents = 1000 where id = 4");
    await pool.query(
      `with queues as (update graphile_worker._private_job_queues set locked_at = now(), locked_by = 'dead')
       update graphile_worker._private_jobs set locked_at = now(), locked_by = 'dead'`,
    );
    await expect(compare()).rejects.toThrow(/eve/);
    await pool.query(
      `with queues as (update graphile_worker._private_job_queues set locked_at = null, locked_by = null)
       update graphile_worker._private_jobs set locked_at = null, locked_by = null`,
    );
    expect(await compare()).toEqual({ ann: 501, bob: 71, eve: 1000 });
  } finally {
    await pool.end();
    await withSuperuser(host, (superuser) => superuser.query(`drop database ${name} with (force)`));
  }
});
