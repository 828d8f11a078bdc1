import { readFile } from "node:fs/promises";
import { type Database, open } from "percolatordb";
import { openWithHooks, requestLost, StepHooks } from "percolatordb/testing";
import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../support/postgres-server.js";
import { changeOrder, type Order, orderChanges, orders } from "./orders.js";
import { createTables, deliverToPostgres } from "./receiver.js";

let server: PostgresServer;
let pool: Pool;

beforeAll(async () => {
  server = await startPostgres();
  pool = new Pool({ host: server.host, user: server.user, database: "postgres" });
  // The pool replaces an idle connection that breaks.
  pool.on("error", () => {});
});

afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

beforeEach(async () => {
  await createTables(pool);
  await pool.query("truncate order_changes, orders");
});

const states = ["placed", "paid", "sent"] as const;

async function changeAll(db: Database, queue: ReturnType<typeof orderChanges>, numbers: readonly string[]) {
  const changeOne = async (number: string) => {
    for (const state of states) {
      await db.transact((tx) => changeOrder(tx, queue, number, { item: `tea for ${number}`, state }));
    }
  };
  await Promise.all(numbers.map(changeOne));
}

/**
 * Expects that PostgreSQL and the database agree: every change once, and the newest state of each
 * order.
 */
async function expectSame(db: Database, numbers: readonly string[]): Promise<void> {
  const changes = await pool.query<{ number: string; sequence: string; change: Order }>(
    "select * from order_changes order by number, sequence",
  );
  expect(changes.rows.map(({ number, sequence, change }) => `${number} ${sequence} ${change.state}`)).toEqual(
    numbers.flatMap((number) => states.map((state, n) => `${number} ${n + 1} ${state}`)),
  );
  const newest = await pool.query<{ number: string; state: Order }>("select * from orders order by number");
  await using snapshot = await db.snapshot();
  const here = await snapshot.getMany(orders.order, numbers);
  expect(newest.rows.map(({ state }) => state)).toEqual(here);
}

const many = Array.from({ length: 20 }, (_, n) => `order ${10 + n}`);

test("every change arrives once and in order, many in one statement, even if commits of runs are lost", async () => {
  const sizes: number[] = [];
  const deliver = deliverToPostgres(pool);
  const queue = orderChanges((entries, options) => {
    sizes.push(entries.length);
    return deliver(entries, options);
  });
  const hooks = new StepHooks();
  await using db = await openWithHooks("memory:", {
    tables: [orders, ...queue.tables],
    observers: [queue.observer],
    hooks,
  });
  for (let n = 0; n < 5; n++) {
    hooks.once("one-phase-commit", requestLost, ({ label }) => label === "order_changes");
  }
  await using _worker = db.work();
  await changeAll(db, queue, many);
  await db.drain();
  await expectSame(db, many);
  expect(Math.max(...sizes)).toBeGreaterThan(1);
  expect(sizes.reduce((a, b) => a + b)).toBeGreaterThan(60); // Some were repeated.
});

test("an earlier change that is repeated after later ones changes nothing", async () => {
  const deliver = deliverToPostgres(pool);
  const { signal } = new AbortController();
  const entry = (sequence: number) => ({ key: "a", sequence, value: { state: states[sequence - 1] } });
  await deliver([entry(1), entry(2)], { signal });
  await deliver([entry(2), entry(3)], { signal });
  await deliver([entry(1)], { signal });
  const { rows } = await pool.query("select sequence::int, state from orders");
  expect(rows).toEqual([{ sequence: 3, state: { state: "sent" } }]);
  expect((await pool.query("select * from order_changes")).rowCount).toBe(3);
});

test("nothing is lost or doubled when the server crashes during deliveries", async () => {
  const queue = orderChanges(deliverToPostgres(pool));
  const observers = [queue.observer];
  await using db = await open("memory:", { tables: [orders, ...queue.tables], observers });
  await using _worker = db.work();
  const changing = changeAll(db, queue, many);
  await server.crash();
  await changing;
  await db.drain();
  for await (const parked of db.parked()) await db.retry(parked);
  await db.drain();
  await expectSame(db, many);
});

test("entries that the server always refuses are parked for their key alone, and delivered when it accepts them", async () => {
  await pool.query("alter table orders add constraint no_ann check (number <> 'ann')");
  const queue = orderChanges(deliverToPostgres(pool));
  await using db = await open("memory:", { tables: [orders, ...queue.tables], observers: [queue.observer] });
  await changeAll(db, queue, ["ann", "bob"]);
  await db.drain();
  const parked = [];
  for await (const each of db.parked()) parked.push(each);
  expect(parked).toMatchObject([{ row: ["ann", 0], error: { message: expect.stringContaining("no_ann") } }]);
  await pool.query("alter table orders drop constraint no_ann");
  for (const each of parked) await db.retry(each);
  await db.drain();
  await expectSame(db, ["ann", "bob"]);
});

/** Two entries of one order in a call, the newer one first. */
const backwards = [2, 1].map((sequence) => ({ key: "order 1", sequence, value: { state: `${sequence}` } }));

test("of several entries of an order in one call the newest is its state, wherever it is in the list", async () => {
  const find = () => pool.query<{ sequence: string; state: unknown }>("select sequence, state from orders");
  const expected = [{ sequence: "2", state: { state: "2" } }];
  await deliverToPostgres(pool)(backwards, { signal: new AbortController().signal });
  expect((await find()).rows).toEqual(expected);

  await pool.query("truncate orders");
  const page = await readFile(new URL("../../docs/recipes/export-queue.md", import.meta.url), "utf8");
  const [, statement = ""] = /```sql\n(.*?)```/s.exec(page) ?? [];
  await pool.query(statement, [
    backwards.map(({ key }) => key),
    backwards.map(({ sequence }) => sequence),
    backwards.map(({ value }) => JSON.stringify(value)),
  ]);
  expect((await find()).rows).toEqual(expected);
});
