import fc from "fast-check";
import {
  type Column,
  type Database,
  int,
  json,
  type Observer,
  observer,
  rowObservers,
  table,
  text,
  tuple,
} from "percolatordb";
import { attach, attachTables, detachTable } from "percolatordb/postgres";
import { derive } from "percolatordb/recipes";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../../examples/support/postgres-server.js";
import { openAlone } from "../../support/databases.js";
import { gather } from "../../support/gather.js";
import { placeAt, storeAt } from "../../support/postgres/index.js";
import { Shop } from "./shop.js";

/**
 * Attached tables as the sources of derivations and of row observers: statements that change several
 * columns, programs that have only some of the observers, tables that are detached, parked and attached
 * again, and runs that fail. In the end all that was derived must equal a recomputation in SQL.
 */

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres({ settings: ["fsync=off"] });
});

afterAll(() => server.stop());

const id = fc.integer({ min: 0, max: 7 });
const values = {
  kind: fc.constantFrom("null", "'book'", "'toy'"),
  cents: fc.constantFrom("null", "0", "-5", "100", "1000000000000"),
  note: fc.constantFrom("null", "''", "'a'", "'é😀'", "repeat('long', 5000)", "'bad'"),
  tags: fc.constantFrom("null", "'{}'", "array['red']", "array['red','é']"),
  maker: fc.constantFrom("null", "1", "2"),
};
type Name = keyof typeof values;
const names = Object.keys(values) as Name[];
/** `cents = 0, note = 'a'`: some columns. */
const sets = fc
  .subarray(names, { minLength: 1 })
  .chain((some) => fc.tuple(...some.map((name) => values[name].map((value) => `${name} = ${value}`))))
  .map((all) => all.join(", "));
const key = fc.tuple(id, fc.constantFrom("x", "y")).map(([a, b]) => `a = ${a} and b = '${b}'`);

const statement = fc.oneof(
  fc
    .tuple(id, fc.constantFrom("x", "y"), values.kind, values.cents, values.note, values.tags, sets)
    .map(
      ([a, b, kind, cents, note, tags, set]) =>
        `insert into T.goods (a, b, kind, cents, note, tags) values (${a}, '${b}', ${kind}, ${cents}, ${note}, ${tags}) on conflict (a, b) do update set ${set}`,
    ),
  fc.tuple(sets, key).map(([set, where]) => `update T.goods set ${set} where ${where}`),
  fc.tuple(sets, id).map(([set, a]) => `update T.goods set ${set} where a >= ${a}`),
  key.map((where) => `delete from T.goods where ${where}`),
  id.map(
    (a) =>
      `update T.goods set a = a + 1, cents = a where a = (select max(a) from T.goods where a <= ${a} + 3)`,
  ),
  // NULL and back, and a row that is deleted and inserted again, in one transaction.
  id.map(
    (a) =>
      `update T.goods set cents = null, note = null where a < ${a}; update T.goods set cents = 3, note = 'n' where a < ${a}`,
  ),
  id.map(
    (a) =>
      `with g as (delete from T.goods where a = ${a} returning *) select set_config('test.gone', coalesce(json_agg(g)::text, '[]'), true) from g; insert into T.goods select * from json_populate_recordset(null::T.goods, current_setting('test.gone')::json)`,
  ),
  fc
    .tuple(id, sets)
    .map(
      ([a, set]) =>
        `merge into T.goods g using (values (${a}, 'x'), (${a} + 8, 'y')) v(a, b) on g.a = v.a and g.b = v.b when matched and g.cents > 3 then delete when matched then update set ${set} when not matched then insert (a, b, kind, cents) values (v.a, v.b, 'toy', 4)`,
    ),
  fc
    .tuple(
      fc.constantFrom(1, 2),
      fc.constantFrom("null", "'m'", "'k'"),
      fc.constantFrom("null", "'no'", "'se'"),
    )
    .map(
      ([maker, name, land]) =>
        `insert into T.makers values (${maker}, ${name}, ${land}) on conflict (id) do update set name = excluded.name, land = excluded.land`,
    ),
  fc.constantFrom(
    "delete from T.makers where id = 1",
    "update T.makers set land = 'dk', name = name || 'x'",
    "truncate T.goods",
  ),
);
const control = fc.constantFrom(
  "drain",
  "drain",
  "drain",
  "work",
  "some observers",
  "all observers",
  "detach",
  "park",
  "retry",
);
const step = fc.oneof({ weight: 3, arbitrary: statement }, control);

test("derivations and row observers of attached tables equal a recomputation in SQL", async () => {
  const shop = await Shop.at(placeAt(server.host, "derived"));
  await shop.sql(`create table T.goods (a int, b text collate "C", kind text, cents bigint, note text, tags text[], maker int, primary key (a, b));
    create table T.makers (id int primary key, name text, land text)`);
  const goods = attach(`${shop.schema}.goods`, {
    key: tuple(int(), text()),
    columns: { kind: text(), cents: int(), note: text(), tags: json<string[]>(), maker: int() },
  });
  const makers = attach(`${shop.schema}.makers`, {
    key: tuple(int()),
    columns: { name: text(), land: text() },
  });
  const kinds = derive("kinds", {
    from: goods,
    key: [text()],
    groupBy: ({ kind }) => (kind === undefined ? undefined : [kind]),
    count: true,
    sum: ({ cents }) => cents,
    min: ({ note }) => note?.slice(0, 10),
    top: { n: 2, by: ({ cents }) => cents },
  });
  const named = derive("named", {
    from: goods,
    leftJoin: makers,
    on: ({ maker }) => (maker === undefined ? undefined : ([maker] as const)),
    columns: { note: text(), name: text() },
    select: ({ note }, maker) => ({ note, name: maker?.name ?? "nobody" }),
  });
  const byTag = derive("by_tag", {
    from: goods,
    key: [text()],
    index: ({ tags }) => (tags ?? []).map((tag) => [tag] as const),
  });
  const rows = derive("rows", { from: kinds.table, sum: ({ count }) => count });
  const derivations = [kinds, named, byTag, rows];

  let fails = true;
  const shown = table("shown", { text: text() }, { key: tuple(int(), text()) });
  const show = rowObservers(
    "show",
    names.map((name) => goods[name]),
    async (tx, { row }) => {
      const value = await tx.row(goods, row);
      if (fails && value?.note === "bad") throw new Error("bad");
      if (value === undefined) tx.delete(shown.text, row);
      else tx.set(shown.text, row, JSON.stringify(names.map((name) => value[name] ?? null)));
    },
    { attempts: 2, backoff: { initialMs: 1, maximumMs: 2 } },
  );
  /** Each run's `previous` must be the `value` of the run before it. */
  const last = table(
    "last",
    { value: json<unknown>(), wrong: text() },
    { key: tuple(text(), int(), text()) },
  );
  const chains = (["cents", "note", "tags"] as const).map(
    (name): Observer =>
      observer(
        `chain-${name}`,
        goods[name] as Column<unknown, readonly [number, string]>,
        async (tx, { row, value, previous }) => {
          const at = [name, ...row] as const;
          const before = await tx.get(last.value, at);
          if (JSON.stringify(before) !== JSON.stringify(previous)) {
            tx.set(last.wrong, at, `${String(previous)} instead of ${String(before)}`);
          }
          if (value === undefined) tx.delete(last.value, at);
          else tx.set(last.value, at, value);
        },
      ),
  );

  const start = async (which: "all" | "some") => {
    const few = which === "some";
    return await openAlone(await storeAt(shop.place), {
      tables: [goods, makers, shown, last],
      derivations: few ? [named, rows] : derivations,
      observers: few ? chains : [...show, ...chains],
    });
  };
  let db: Database = await start("all");
  await attachTables(db, [goods, makers]);
  const sql = (query: string) => shop.sql(query).catch(() => undefined);

  async function run(what: string): Promise<unknown> {
    switch (what) {
      case "drain":
        // It rejects if changes wait for observers of the other program.
        return await db.drain().catch(() => undefined);
      case "work": {
        const worker = db.work();
        await new Promise((resolve) => setTimeout(resolve, 20));
        return await worker.stop();
      }
      case "some observers":
      case "all observers":
        await db.close();
        db = await start(what === "some observers" ? "some" : "all");
        return;
      case "detach":
        await detachTable(db, goods);
        await sql("update T.goods set cents = coalesce(cents, 0) + 1, note = null where a % 2 = 0");
        return await attachTables(db, [goods, makers]);
      case "park":
        await sql("insert into T.goods (a, b, cents) values (99, 'x', 9007199254740993)");
        await db.drain().catch(() => undefined);
        await sql("update T.goods set kind = 'toy', cents = 1 where a < 4");
        await sql("delete from T.goods where cents > 9007199254740991");
        return await attachTables(db, [goods, makers]);
      case "retry":
        fails = false;
        for (const parked of await gather(db.parked())) await db.retry(parked);
        await db.drain().catch(() => undefined);
        fails = true;
        return;
      default:
        return await sql(what);
    }
  }

  /** All that was derived must be right, and nothing may wait. */
  async function verify(): Promise<void> {
    await db.close();
    db = await start("all");
    fails = false;
    for (const derivation of derivations) await derivation.backfill(db);
    for (const parked of await gather(db.parked())) await db.retry(parked);
    await db.drain();
    fails = true;
    expect(await gather(db.pending())).toEqual([]);
    expect(await gather(db.parked())).toEqual([]);
    expect(await db.check()).toEqual([]);
    expect(await shop.pending()).toBe(0);
    await using snapshot = await db.snapshot();
    for (const derivation of derivations) expect(await derivation.compare(snapshot)).toEqual([]);
    const [theirs] = await shop.sql(`select
      (select coalesce(json_agg(json_build_array(a, b, kind, cents, note, tags, maker) order by a, b), '[]') from T.goods
        where num_nonnulls(kind, cents, note, tags, maker) > 0) as goods,
      (select coalesce(json_agg(json_build_array(kind, n, sum) order by kind), '[]') from
        (select kind, count(*) n, sum(cents) from T.goods where kind is not null group by kind) k) as kinds,
      (select coalesce(json_agg(json_build_array(a, b, g.note, coalesce(m.name, 'nobody')) order by a, b), '[]')
        from T.goods g left join T.makers m on m.id = g.maker
        where num_nonnulls(kind, cents, note, tags, maker) > 0) as named`);
    const all = await gather(snapshot.scan(shown));
    const ours = all.map(({ row, value }) => [...row, ...(JSON.parse(value.text!) as unknown[])]);
    expect(ours).toEqual(theirs!.goods);
    const groups = await gather(snapshot.scan(kinds.table));
    expect(groups.map(({ row, value }) => [...row, value.count, value.sum ?? null])).toEqual(theirs!.kinds);
    const joined = await gather(snapshot.scan(named.table));
    expect(joined.map(({ row, value }) => [...row, value.note ?? null, value.name])).toEqual(theirs!.named);
    const chained = await gather(snapshot.scan(last));
    expect(chained.filter(({ value }) => value.wrong !== undefined)).toEqual([]);
    for (const { row, value } of await gather(snapshot.scan(goods))) {
      for (const name of ["cents", "note", "tags"] as const) {
        expect(await snapshot.get(last.value, [name, ...row])).toEqual(value[name]);
      }
    }
  }

  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30, size: "max" }), async (steps) => {
        await sql(`insert into T.goods select a, b, 'toy', a, 'a', array['red'], 1
          from generate_series(0, 7) a, (values ('x'), ('y')) v(b) on conflict do nothing`);
        await run("drain");
        for (const what of steps) await run(what);
        await verify();
      }),
      { numRuns: 8 },
    );
  } finally {
    await db.close();
    await shop.sql(`drop schema ${shop.schema}, derived cascade`);
    await shop[Symbol.asyncDispose]();
  }
}, 600_000);
