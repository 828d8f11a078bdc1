import { open } from "percolatordb";
import { attachTables } from "percolatordb/postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PostgresServer, startPostgres, startStandby } from "../../examples/support/postgres-server.js";
import { postgresFindings } from "../../src/cli/doctor/postgres.js";
import { examinePostgres } from "../../src/store/postgres/index.js";
import { locationBehind, placeAt, socketOf, startProxy, withSuperuser } from "../support/postgres/index.js";
import { Shop, sums } from "./attach/shop.js";
import { Writers } from "./attach/writers.js";
import { CountingClients, counting } from "./counting-clients.js";

const schema = "followed";

let primary: PostgresServer;
let standby: PostgresServer;

beforeEach(async () => {
  primary = await startPostgres();
  standby = await startStandby(primary.host, { settings: ["cluster_name=second"] });
  await withSuperuser(primary.host, async (pool) => {
    await pool.query("alter system set synchronous_standby_names = 'second'");
    await pool.query("select pg_reload_conf()");
    await expect
      .poll(async () => (await pool.query("select sync_state from pg_stat_replication")).rows)
      .toEqual([{ sync_state: "sync" }]);
  });
});

afterEach(async () => {
  await standby.stop();
  await primary.stop().catch(() => undefined);
});

const findingsOf = async (host: string, check: string) =>
  postgresFindings(await examinePostgres(placeAt(host, schema).location), true)
    .filter((finding) => finding.check === check)
    .map(({ state, what }) => `${state}: ${what}`);

test("a failover to a synchronous standby under load loses no acknowledged commit and doubles none", async () => {
  await using proxy = await startProxy(primary.host);
  // The failover takes a while. A deadline that is never reached keeps time out of the test.
  const location = `${locationBehind(proxy, schema)}&deadlineMs=100000`;
  const db = await open(location, counting);
  const other = await open(location, counting);
  const workers = [db.work(), other.work()];
  const clients = [new CountingClients(db, "a "), new CountingClients(other, "b ")];
  expect(await findingsOf(primary.host, "replication")).toEqual(["ok: standby second (sync, streaming)"]);
  expect(await findingsOf(standby.host, "server")).toEqual([
    expect.stringMatching(/^problem: PostgreSQL .*, a standby$/),
  ]);
  try {
    for (const each of clients) await each.progress(200);
    await primary.end();
    // Requests that arrive too early find a server that only reads.
    proxy.target = socketOf(standby.host);
    await standby.promote();
    for (const each of clients) await each.progress(200);
  } finally {
    for (const each of clients) await each.stop();
  }
  await db.drain();
  for (const worker of workers) await worker.stop();
  // A third process sees the same, so nothing is only in a cache.
  await using fresh = await open(location, counting);
  await CountingClients.expectSound(fresh, clients);
  await db.close();
  await other.close();
});

test("a failover under SQL writers of an attached table: the derived rows are exact", async () => {
  await using proxy = await startProxy(primary.host);
  const location = `${locationBehind(proxy, schema)}&deadlineMs=100000`;
  await using shop = await Shop.at({ host: primary.host, schema, location });
  const { orders, add } = shop.declare();
  await using db = await open(location, { tables: [orders, sums], observers: [add] });
  await attachTables(db, [orders]);
  const worker = db.work();
  const writers = new Writers(shop, 4);
  try {
    await writers.progress(200);
    await primary.end();
    proxy.target = socketOf(standby.host);
    await standby.promote();
    await writers.progress(200);
  } finally {
    await writers.stop();
  }
  await shop.expectEqual(db, orders);
  await worker.stop();
  expect(await db.check()).toEqual([]);
});

test("a standby that replays nothing, and a slot that nobody uses, are reported until they have caught up", async () => {
  const sql = (host: string, query: string) => withSuperuser(host, (pool) => pool.query(query));
  const { location } = placeAt(primary.host, schema);
  await (await open(location, counting)).close();
  const found = async () => [
    ...(await findingsOf(primary.host, "replication")),
    ...(await findingsOf(primary.host, "replication slots")),
  ];
  await sql(primary.host, "select pg_create_physical_replication_slot('forgotten', true)");
  await sql(standby.host, "select pg_wal_replay_pause()");
  expect(await found()).toEqual(["ok: standby second (sync, streaming)"]);
  // A gigabyte of the log, nearly all of it zeros.
  await sql(
    primary.host,
    `do $$ begin for i in 0 .. 64 loop
       perform pg_logical_emit_message(false, '', ''), pg_switch_wal(); end loop; end $$`,
  );
  expect(await found()).toEqual([
    expect.stringMatching(/^warning: standby second is .*1\.\d GiB behind$/),
    expect.stringMatching(/^warning: nobody uses the slot forgotten, .* keeps 1\.\d GiB of its log/),
  ]);
  await sql(standby.host, "select pg_wal_replay_resume()");
  await sql(primary.host, "select pg_drop_replication_slot('forgotten')");
  await expect.poll(found).toEqual(["ok: standby second (sync, streaming)"]);
});

test("a primary whose synchronous standby is away commits nothing until it is back", async () => {
  const { location } = placeAt(primary.host, schema);
  await using db = await open(`${location}&deadlineMs=100000`, counting);
  const worker = db.work();
  const clients = new CountingClients(db);
  await clients.progress(50);
  await standby.end();
  await expect
    .poll(() => findingsOf(primary.host, "replication"))
    .toEqual(["problem: no synchronous standby is connected (second)"]);
  await standby.start();
  await clients.progress(50);
  await clients.stop();
  await db.drain();
  await worker.stop();
  await CountingClients.expectSound(db, [clients]);
});
