import { type Database, int, text, tuple } from "percolatordb";
import { attach, attachedTables, attachTables, postgresStore } from "percolatordb/postgres";
import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type PostgresServer, startPostgres } from "../../../examples/support/postgres-server.js";
import { openAlone } from "../../support/databases.js";

/** What may hold a table besides the programs' transactions: autovacuum, and prepared transactions. */

let server: PostgresServer;
let pool: Pool;

beforeAll(async () => {
  const settings = ["fsync=off", "max_prepared_transactions=5", "autovacuum_naptime=1s"];
  server = await startPostgres({ settings });
  pool = new Pool({ host: server.host, user: "postgres", database: "postgres", max: 4 });
  pool.on("error", () => undefined);
  await pool.query("create role app login; grant create on database postgres to app");
});

afterAll(async () => {
  await pool.end();
  await server.stop();
});

const events = attach("public.events", { key: tuple(int()), columns: { what: text() } });

beforeEach(async () => {
  // An autovacuum that prevents wraparound does not give way to `drop`, and the server starts it again.
  await vi.waitFor(
    async () => {
      await pool.query("select pg_terminate_backend(pid) from pg_stat_progress_vacuum");
      await pool.query(`set local lock_timeout = 500; drop table if exists events;
        create table events (id int primary key, what text) with (autovacuum_enabled = false);
        alter table events owner to app`);
    },
    { timeout: 60_000, interval: 50 },
  );
});

/** A database of an ordinary role, which does not see what other roles do. */
async function openAs(user: string): Promise<Database> {
  const own = new Pool({ host: server.host, user, database: "postgres", max: 4 });
  own.on("error", () => undefined);
  const store = await postgresStore({ pool: own, schema: `of_${user}` });
  const db = await openAlone(store, { tables: [events] });
  const close = db[Symbol.asyncDispose].bind(db);
  return Object.assign(db, { [Symbol.asyncDispose]: () => close().then(() => own.end()) });
}

/** Lets autovacuum work on the table, slowly. Returns its process. */
async function autovacuumed(options = ""): Promise<number> {
  await pool.query(`insert into events select id, repeat('x', 500) from generate_series(1, 20000) id`);
  await pool.query("delete from events where id % 2 = 0");
  await pool.query(
    `alter table events set (autovacuum_enabled = true, autovacuum_vacuum_threshold = 1,
       autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1${options})`,
  );
  const working = "select pid from pg_stat_progress_vacuum where relid = 'events'::regclass";
  return await vi.waitFor(
    async () => {
      const [row] = (await pool.query(working)).rows;
      if (row === undefined) throw new Error("No autovacuum works on the table.");
      return row.pid as number;
    },
    { timeout: 30_000, interval: 50 },
  );
}

test.each(["postgres", "app"])("an autovacuum gives way to attaching as the role %s", async (user) => {
  await using db = await openAs(user);
  await autovacuumed();
  await attachTables(db, [events]);
  expect(await attachedTables(db)).toMatchObject([{ isAttached: true, problems: [] }]);
  await pool.query(`drop schema of_${user} cascade`);
});

test.each(["postgres", "app"])(
  "an autovacuum to prevent wraparound does not give way, and the role %s is told what to do",
  async (user) => {
    await using db = await openAs(user);
    // The table becomes old enough.
    await pool.query(
      "do $$ begin for i in 1..100100 loop perform pg_current_xact_id(); commit; end loop; end $$",
    );
    const pid = await autovacuumed(", autovacuum_freeze_max_age = 100000");
    await expect(attachTables(db, [events], { waitMs: 4_000 })).rejects.toThrow(
      new RegExp(
        `held "public"\\."events": ${pid} \\(autovacuum.*\\)\\..*An autovacuum that prevents wraparound does not give way`,
      ),
    );
    await pool.query(`drop schema of_${user} cascade`);
  },
);

test("a prepared transaction in the way is named, and how to end it", async () => {
  await using db = await openAs("app");
  await pool.query("begin; insert into events values (1, 'x'); prepare transaction 'forgotten ''one'''");
  await expect(attachTables(db, [events], { waitMs: 0 })).rejects.toThrow(
    /because prepared transactions held "public"\."events": 'forgotten ''one''' \(for \d+ s\)\. The table is unchanged\. A prepared transaction stays until somebody ends it: `commit prepared 'forgotten ''one'''`, or `rollback prepared 'forgotten ''one'''`\./,
  );
  await pool.query("rollback prepared 'forgotten ''one'''");
  await attachTables(db, [events]);
  await pool.query("drop schema of_app cascade");
});
