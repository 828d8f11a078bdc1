import fc from "fast-check";
import { float, int, json, observer, table, text, tuple } from "percolatordb";
import { attach, attachTables } from "percolatordb/postgres";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../../examples/support/postgres-server.js";
import { openAlone } from "../../support/databases.js";
import { placeAt, storeAt } from "../../support/postgres/index.js";
import { Shop } from "./shop.js";

/**
 * Statements of every kind in several sessions, with savepoints, cascades, prepared transactions and
 * triggers of the application. Whenever all sessions have ended their transactions, the rows here and the
 * derived counts must equal the server's.
 */

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres({ settings: ["fsync=off", "max_prepared_transactions=5"] });
});

afterAll(() => server.stop());

const names = ["a", "A", "b", "é", "É", "a10", "a9", "", " ", "😀"];
const quoted = fc.constantFrom(...names).map((name) => `'${name}'`);
const id = fc.integer({ min: 0, max: 7 });

const statement = fc.oneof(
  fc
    .tuple(quoted, id, fc.constantFrom("null", "1", "2.5"), fc.constantFrom("null", `'null'`, `'{"a": 1}'`))
    .map(([k, i, amount, doc]) => `insert into T.parents values (${k}, ${i}, ${amount}, ${doc})`),
  fc
    .tuple(quoted, id, quoted, id)
    .map(
      ([k, i, l, j]) =>
        `insert into T.parents as p values (${k}, ${i}, 1), (${l}, ${j}, 2) on conflict (k, id) do update set amount = p.amount + 1, id = p.id + 10`,
    ),
  fc
    .tuple(quoted, id)
    .map(
      ([k, i]) =>
        `merge into T.parents p using (values (${k}, ${i})) v(k, id) on p.k = v.k and p.id = v.id when matched and p.amount > 3 then delete when matched then update set amount = 9, k = upper(p.k) when not matched then insert (k, id, amount) values (v.k, v.id, 2)`,
    ),
  fc
    .tuple(fc.constantFrom("upper(k)", "lower(k)", "left(k, 1)", "k || 'x'"), id)
    .map(([k, i]) => `update T.parents set k = ${k} where id = ${i}`),
  id.map((i) => `update T.parents set amount = coalesce(amount, 0) + 1 where id >= ${i}`),
  id.map((i) => `update T.parents set id = id - 1 where id = ${i}`),
  id.map((i) => `delete from T.parents where id = ${i}`),
  id.map(
    (i) =>
      `with gone as (delete from T.parents where id = ${i} returning *) insert into T.parents select k || 'm', id, amount from gone on conflict do nothing`,
  ),
  fc
    .tuple(fc.constantFrom("'p'", "'q'", "null"), id)
    .map(
      ([note, i]) =>
        `insert into T.children (note, k, parent) select ${note}, k, id from T.parents where id = ${i}`,
    ),
  id.map((i) => `update T.children set note = note || 'x', id = -id where id % 8 = ${i}`),
  id.map((i) => `update T.children c set note = p.k from T.parents p where p.id = c.parent and p.id = ${i}`),
  fc.constantFrom(
    "truncate T.children",
    "truncate T.parents cascade",
    "delete from T.parents",
    "set constraints all immediate",
    "do $$ begin update T.parents set amount = 77; raise 'no'; exception when others then update T.parents set amount = 78 where id = 1; end $$",
    "set session_replication_role = replica; update T.children set note = 'r' where id % 3 = 0; reset session_replication_role",
  ),
);
const control = fc.constantFrom(
  "begin",
  "savepoint s",
  "rollback to s",
  "commit",
  "rollback",
  "prepare",
  "drain",
);
const step = fc.tuple(fc.integer({ min: 0, max: 1 }), fc.oneof({ weight: 3, arbitrary: statement }, control));

/** Triggers of the application that write rows of the table on which they are. */
const triggers = {
  none: "select 1",
  "an after trigger": `create function T.f() returns trigger language plpgsql as $f$ begin
      if pg_trigger_depth() < 2 then update T.parents set amount = coalesce(amount, 0) + 1 where id = coalesce(new.id, old.id) + 1; end if;
      return null; end $f$;
    create trigger f after insert or update or delete on T.parents for each row execute function T.f()`,
  "a before trigger": `create function T.f() returns trigger language plpgsql as $f$ begin
      if pg_trigger_depth() < 2 then delete from T.parents where id = new.id + 1; end if;
      if new.id = 7 then return null; end if;
      new.amount := coalesce(new.amount, 5); return new; end $f$;
    create trigger f before insert or update on T.parents for each row execute function T.f()`,
  "a deferred trigger": `create function T.f() returns trigger language plpgsql as $f$ begin
      if coalesce(new.id, old.id) <> 50 then
        insert into T.parents as p values (coalesce(new.k, old.k), 50, 1) on conflict (k, id) do update set amount = p.amount + 1;
      end if;
      return null; end $f$;
    create constraint trigger f after insert or update or delete on T.parents deferrable initially deferred
      for each row execute function T.f()`,
};

const kinds = Object.entries(triggers).flatMap(([what, sql]) =>
  ["C", "folded"].map((collation) => [what, collation, sql] as const),
);

test.each(kinds)("%s, and keys with the collation %s", async (_, collation, sql) => {
  const shop = await Shop.at(placeAt(server.host, "following"));
  const collate = collation === "C" ? 'collate "C"' : "collate T.folded";
  await shop.sql(`create collation T.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    create table T.parents (k text ${collate}, id int, amount float8, doc jsonb, primary key (k, id));
    create table T.children (id int generated by default as identity primary key, note text, k text ${collate}, parent int,
      foreign key (k, parent) references T.parents on update cascade on delete ${collation === "C" ? "cascade" : "set null"}
        deferrable initially deferred)`);
  await shop.sql(sql);
  const parents = attach(`${shop.schema}.parents`, {
    key: tuple(text(), int()),
    columns: { amount: float(), doc: json<unknown>() },
  });
  const children = attach(`${shop.schema}.children`, {
    key: tuple(int()),
    columns: { note: text(), parent: int() },
  });
  const counts = table("counts", { rows: int() });
  const count = observer("count", children.note, async (tx, { value, previous }) => {
    for (const [note, more] of [[value, 1] as const, [previous, -1] as const]) {
      if (note !== undefined) tx.set(counts.rows, note, ((await tx.get(counts.rows, note)) ?? 0) + more);
    }
  });
  const db = await openAlone(await storeAt(shop.place), {
    observers: [count],
    tables: [parents, children, counts],
  });
  await attachTables(db, [parents, children]);
  // A prepared TRUNCATE would keep a copy from reading.
  await db.drain();
  const sessions = await Promise.all(
    [0, 1].map(async () => {
      const client = new Client({ host: shop.place.host, user: "postgres", database: "postgres" });
      await client.connect();
      await client.query("set lock_timeout = '50ms'");
      return client;
    }),
  );

  /** What is here, as the server would show it. */
  async function ours() {
    await using snapshot = await db.snapshot();
    const found = { parents: [] as unknown[], children: [] as unknown[], counts: [] as unknown[] };
    for await (const { row, value } of snapshot.scan(parents))
      found.parents.push([...row, value.amount ?? null, value.doc ?? null]);
    for await (const { row, value } of snapshot.scan(children))
      found.children.push([...row, value.note ?? null, value.parent ?? null]);
    for await (const { row, value } of snapshot.scan(counts))
      if (value.rows !== 0) found.counts.push([row, value.rows]);
    return found;
  }

  async function theirs() {
    const [row] = await shop.sql(`select
      (select json_agg(json_build_array(k, id, amount, nullif(doc, 'null')) order by k collate "C", id) from T.parents
        where amount is not null or doc <> 'null') as parents,
      (select json_agg(json_build_array(id, note, parent) order by id) from T.children
        where note is not null or parent is not null) as children,
      (select json_agg(json_build_array(note, n) order by note collate "C") from
        (select note, count(*) as n from T.children where note is not null group by note) c) as counts`);
    return { parents: row!.parents ?? [], children: row!.children ?? [], counts: row!.counts ?? [] };
  }

  async function run(session: number, sql: string) {
    const client = sessions[session]!;
    if (sql === "drain") return await db.drain();
    if (sql !== "prepare") return await client.query(shop.text(sql)).catch(() => undefined);
    const name = `'random_${process.pid}_${session}'`;
    const isPrepared = await client.query(`prepare transaction ${name}`).then(
      ({ command }) => command === "PREPARE",
      () => false,
    );
    try {
      await db.drain();
    } finally {
      if (isPrepared) await client.query(`commit prepared ${name}`);
    }
  }

  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        for (const [session, sql] of steps) await run(session, sql);
        for (const client of sessions) await client.query("commit").catch(() => undefined);
        await db.drain();
        expect(await ours()).toEqual(await theirs());
      }),
      { numRuns: 15 },
    );
  } finally {
    for (const client of sessions) await client.end();
    await db.close();
    await shop.sql(`drop schema ${shop.schema}, following cascade`);
    await shop[Symbol.asyncDispose]();
  }
});
