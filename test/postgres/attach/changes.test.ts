import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Database } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../../support/databases.js";
import { storeAt } from "../../support/postgres/index.js";
import { rowsOf, Shop, sums } from "./shop.js";

const exec = promisify(execFile);

let shop: Shop;
let orders: ReturnType<Shop["declare"]>["orders"];
let db: Database;

beforeEach(async () => {
  shop = await Shop.create();
  const declared = shop.declare();
  orders = declared.orders;
  await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)");
  db = await openAlone(await storeAt(shop.place), { observers: [declared.add], tables: [orders, sums] });
  await attachTables(db, [orders]);
  await shop.expectEqual(db, orders);
});

afterEach(async () => {
  await db.close();
  await shop[Symbol.asyncDispose]();
});

async function psql(script: string): Promise<void> {
  const flags = ["-X", "-v", "ON_ERROR_STOP=1", "-h", shop.place.host, "-U", "postgres", "-d", "postgres"];
  const running = exec("psql", [...flags, "-f", "-"]);
  running.child.stdin!.end(shop.text(script));
  await running;
}

const timesOf = async (ids: readonly number[]) => {
  const times = new Set<number>();
  for (const id of ids) times.add((await db.history(orders.total, [id]))[0]!.commitTimestamp);
  return times;
};

describe("each kind of change", () => {
  test.each([
    ["psql", "insert into T.orders values (10, 'x', 4);\nupdate T.orders set customer = 'y' where id = 1;\n"],
    ["COPY", "copy T.orders from stdin;\n10\tx\t4\n11\t\\N\t5\n\\.\n"],
    [
      "COPY in a savepoint that is rolled back",
      "begin;\nsavepoint a;\ncopy T.orders from stdin;\n10\tx\t4\n\\.\nrollback to a;\ncopy T.orders from stdin;\n10\tx\t6\n\\.\ncommit;\n",
    ],
    ["TRUNCATE", "truncate T.orders;\n"],
    [
      "TRUNCATE and INSERT in one transaction",
      "begin;\ntruncate T.orders;\ninsert into T.orders values (2, 'n', 7);\ncommit;\n",
    ],
    [
      "a rolled-back TRUNCATE",
      "begin;\nsavepoint a;\ntruncate T.orders;\nrollback to a;\ndelete from T.orders where id = 1;\ncommit;\n",
    ],
    [
      "ON CONFLICT DO UPDATE and DO NOTHING",
      "insert into T.orders values (1, 'z', 8), (9, 'z', 9) on conflict (id) do update set total = excluded.total;\ninsert into T.orders values (2, 'z', 100) on conflict do nothing;\n",
    ],
    [
      "MERGE",
      "merge into T.orders t using (values (1, 5.0), (20, 6.0)) v(id, total) on t.id = v.id when matched then update set total = v.total when not matched then insert values (v.id, 'm', v.total);\n",
    ],
    [
      "a changed primary key, also a swap",
      "begin;\nupdate T.orders set id = 100 where id = 1;\nupdate T.orders set id = 1 where id = 2;\nupdate T.orders set id = 2 where id = 100;\ncommit;\n",
    ],
    [
      "rows that are deleted and inserted again",
      "begin;\ndelete from T.orders;\ninsert into T.orders values (1, 'a', 1), (2, 'q', 2);\ncommit;\n",
    ],
    [
      "subtransactions",
      "begin;\nsavepoint a;\nupdate T.orders set total = 50 where id = 1;\nsavepoint b;\nupdate T.orders set total = 60 where id = 1;\nrollback to b;\nrelease a;\ncommit;\n",
    ],
    [
      "a function with an exception block",
      "do $$ begin begin insert into T.orders values (30, 'e', 1); raise 'no'; exception when others then insert into T.orders values (31, 'e', 2); end; end $$;\n",
    ],
    [
      "the role of logical replication",
      "set session_replication_role = replica;\ninsert into T.orders values (40, 'r', 1);\nupdate T.orders set total = 70 where id = 2;\ntruncate T.orders;\ninsert into T.orders values (41, 'r', 2);\n",
    ],
  ])("%s", async (what, script) => {
    const { rows } = await shop.pool.query("show server_version_num");
    if (what === "MERGE" && Number(rows[0].server_version_num) < 150_000) return;
    await psql(script);
    await shop.expectEqual(db, orders);
  });

  test("another service, whose role knows nothing of the database's schema", async () => {
    const role = `${shop.schema}_service`;
    await shop.sql(
      `create role ${role} login; grant usage on schema T to ${role}; grant select, insert, update, delete, truncate on T.orders to ${role}`,
    );
    try {
      await psql(
        `set role ${role};\ninsert into T.orders values (50, 's', 5);\nupdate T.orders set id = 51 where id = 50;\ndelete from T.orders where id = 1;\n`,
      );
      await shop.expectEqual(db, orders);
      await psql(`set role ${role};\ntruncate T.orders;\n`);
      await shop.expectEqual(db, orders);
      // It may neither read the outbox nor make triggers that log changes of its own.
      await expect(psql(`set role ${role};\nselect from P.outbox;\n`)).rejects.toThrow(/permission denied/);
      await shop.sql(`grant usage on schema P to ${role}`);
      await shop.sql(`create schema ${role} authorization ${role}`);
      await expect(
        psql(
          `set role ${role};\ncreate table ${role}.mine (id int);\ncreate trigger forge after insert on ${role}.mine for each row execute function P.log_row('1', 'same');\n`,
        ),
      ).rejects.toThrow(/permission denied for function .*log_row/);
    } finally {
      await shop.sql(`drop owned by ${role} cascade; drop role ${role}`);
    }
  });
});

test("all changes of one SQL transaction arrive in one transaction", async () => {
  await psql(
    "begin;\nupdate T.orders set total = total + 10 where id = 1;\nsavepoint a;\nupdate T.orders set total = total + 10 where id = 2;\nrelease a;\nupdate T.orders set total = total + 10 where id = 3;\ncommit;\n",
  );
  await db.drain();
  expect((await timesOf([1, 2, 3])).size).toBe(1);
});

test("an SQL transaction that does not fit into one transaction arrives in pieces, and a TRUNCATE too", async () => {
  const text = "x".repeat(500);
  await db.close();
  // The rows of one SQL statement take 20 times as much.
  db = await openAlone(await storeAt(shop.place), { tables: [orders, sums], transactionBytes: 64 * 1024 });
  await db.unregister("add");
  await shop.sql("insert into T.orders select i, $1, i from generate_series(10, 809) i", [text]);
  await shop.sql("insert into T.orders values (5000, 'after', 1)");
  await db.drain();
  expect(await rowsOf(db, orders)).toHaveLength(804);
  expect((await timesOf([10, 400, 809])).size).toBeGreaterThan(1);
  await shop.sql("begin; truncate T.orders; insert into T.orders values (7, 'only', 7); commit");
  await db.drain();
  expect(await rowsOf(db, orders)).toEqual([[7, { customer: "only", total: 7 }]]);
  expect(await shop.pending()).toBe(0);
});

test("a row that no transaction can hold parks its table", async () => {
  await db.close();
  db = await openAlone(await storeAt(shop.place), { tables: [orders, sums], transactionBytes: 16 * 1024 });
  await db.unregister("add");
  await shop.sql("update T.orders set customer = repeat('x', 100000) where id = 1");
  await expect(db.drain()).rejects.toThrow(/A row of .*orders": /);
});

test("with two-phase commits, changes arrive as well", async () => {
  await db.close();
  const declared = shop.declare();
  db = await openAlone(await storeAt(shop.place), {
    observers: [declared.add],
    tables: [orders, sums],
    commit: "two-phase",
  });
  await shop.sql(
    "update T.orders set total = total * 2; update T.orders set id = id + 50; delete from T.orders where id = 51",
  );
  await shop.expectEqual(db, orders);
  expect(await db.check()).toEqual([]);
});

test("detaching and attaching while workers move and a writer writes ends equal", async () => {
  const declared = shop.declare();
  await using other = await openAlone(await storeAt(shop.place), {
    observers: [declared.add],
    tables: [orders, sums],
  });
  const workers = [db.work(), other.work()];
  let isOver = false;
  const writer = (async () => {
    for (let i = 0; !isOver; i++)
      await shop.sql(
        "insert into T.orders values ($1, 'w', 1) on conflict (id) do update set total = T.orders.total + 1".replaceAll(
          "T.orders.",
          "orders.",
        ),
        [i % 30],
      );
  })();
  const { detachTable } = await import("percolatordb/postgres");
  for (let round = 0; round < 5; round++) {
    await detachTable(db, orders);
    await attachTables(other, [orders]);
    await attachTables(db, [orders]);
  }
  isOver = true;
  await writer;
  for (const worker of workers) await worker.stop();
  await shop.expectEqual(db, orders);
});
