import { feed } from "percolatordb";
import { attachTables, postgresViews } from "percolatordb/postgres";
import { Pool } from "pg";
import { describe, expect, test } from "vitest";
import { openAlone } from "../support/databases.js";
import { locationBehind, newPlace, removePlace } from "../support/postgres/index.js";
import { hasPgBouncer, startPgBouncer } from "../support/postgres/pgbouncer.js";
import { Shop, sums } from "./attach/shop.js";
import { CountingClients, counting } from "./counting-clients.js";

// Without PgBouncer the tests are skipped, but not in CI.
if (!hasPgBouncer && process.env.CI !== undefined) {
  throw new Error("PgBouncer is not installed: apt-get install pgbouncer.");
}

describe.skipIf(!hasPgBouncer)("behind PgBouncer", () => {
  test.each([
    { mode: "session", query: "" },
    { mode: "session", query: "&prepare=false" },
    { mode: "transaction", query: "&prepare=false" },
  ] as const)(
    "in $mode mode with $query, transactions and observers work as without it",
    async ({ mode, query }) => {
      const place = await newPlace();
      try {
        await using bouncer = await startPgBouncer(place.host, mode);
        const location = `${locationBehind(bouncer, place.schema)}${query}`;
        const databases = [await openAlone(location, counting), await openAlone(location, counting)];
        const workers = databases.map((db) => db.work());
        const clients = databases.map((db, index) => new CountingClients(db, `process ${index}, `, 8));
        for (const each of clients) await each.progress(200);
        for (const each of clients) await each.stop();
        // Not through PgBouncer, and without a worker.
        await using other = await openAlone(place.location, counting);
        await CountingClients.expectHandled(other, 1);
        await databases[0]!.drain();
        for (const worker of workers) await worker.stop();
        expect(clients.map(({ unknown }) => unknown)).toEqual([0, 0]);
        await CountingClients.expectSound(other, clients);
        for (const db of databases) await db.close();
      } finally {
        await removePlace(place);
      }
    },
  );

  test("in transaction mode, attached tables, views, feeds and live queries work as without it", async () => {
    await using shop = await Shop.create();
    const { orders, add } = shop.declare();
    const changed = feed("changed", [sums.total]);
    const schema = `${shop.schema}_views`;
    await using bouncer = await startPgBouncer(shop.place.host, "transaction");
    const location = `${locationBehind(bouncer, shop.place.schema)}&prepare=false`;
    const options = { tables: [orders, sums], observers: [add], feeds: [changed] };
    const sql = new Pool({ connectionString: location, max: 8 });
    try {
      await using db = await openAlone(location, options);
      await attachTables(db, [orders]);
      await postgresViews(db, [sums], { schema });
      const live = db.live((view) => view.get(sums.total, "all"));
      const since = (await live.next()).value!.timestamp;
      const change = db.changes(changed, { since }).next();
      // What it derives is news to `db`, which nothing else tells.
      await using other = await openAlone(location, options);
      const worker = other.work();
      const write = (id: number) =>
        sql.query(
          `begin; insert into ${shop.schema}.orders values (${id}, 'c', 1);
           savepoint s; update ${shop.schema}.orders set total = 2 where id = ${id}; commit`,
        );
      await Promise.all(Array.from({ length: 40 }, (_, id) => write(id)));
      for await (const { value } of live) if (value === 80) break;
      expect((await change).value).toMatchObject({ row: "all", column: sums.total });
      const view = await sql.query(`select total from ${schema}.sums where key = 'all'`);
      expect(view.rows).toEqual([{ total: 80 }]);
      await shop.expectEqual(db, orders);
      await worker.stop();
      expect(await db.check()).toEqual([]);
    } finally {
      await sql.query(`drop schema if exists ${schema} cascade`);
      await sql.end();
    }
  });

  test("in transaction mode, prepared statements fail with what to set", async () => {
    const place = await newPlace();
    try {
      await using bouncer = await startPgBouncer(place.host, "transaction");
      await (await openAlone(place.location, counting)).close();
      // Sooner or later a statement runs on a connection that another session has prepared.
      const use = async () => {
        for (;;) {
          const db = await openAlone(locationBehind(bouncer, place.schema), counting);
          const clients = new CountingClients(db, "", 8);
          await clients.progress(50).catch(() => undefined);
          await clients.stop().finally(() => db.close());
        }
      };
      await expect(use()).rejects.toMatchObject({
        code: "STORE",
        message: expect.stringContaining("`prepare=false`"),
      });
    } finally {
      await removePlace(place);
    }
  });
});
