import { open, table, text } from "percolatordb";
import { expect, onTestFinished, test } from "vitest";
import { CommandLine } from "../support/command-line.js";
import { newPlace, placeAt, removePlace, withSuperuser } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";

const documents = table("documents", { contents: text() });

/**
 * A place whose tables are as version 1 made them: without what wakes other processes, and with a
 * function that version 3 calls with other parameters.
 */
async function olderPlace() {
  const place = await newPlace();
  onTestFinished(() => removePlace(place));
  const schema = `"${place.schema.replaceAll('"', '""')}"`;
  {
    await using db = await open(place.location, { tables: [documents] });
    await db.transact((tx) => tx.set(documents.contents, "a", "kept"));
  }
  const sql = (query: string) => withSuperuser(place.host, (pool) => pool.query(query));
  await sql(`
    drop function ${schema}.wake_others(text, int8), ${schema}.wake_channel();
    drop sequence ${schema}.woken;
    ${functionOfVersion2(schema)}
    update ${schema}.state set version = 1;
  `);
  return { place, schema, sql };
}

test("older tables are upgraded when their owner opens the database, by several processes at once", async () => {
  const { place, schema, sql } = await olderPlace();
  await expect(open(place.location, { create: false })).rejects.toMatchObject({
    code: "STORE_VERSION",
    message: expect.stringContaining("Upgrade them with `percolator init`"),
  });
  const databases = await Promise.all([1, 2, 3, 4].map(() => open(place.location, { tables: [documents] })));
  for (const db of databases) {
    expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBe("kept");
    await db.close();
  }
  expect(
    (await sql(`select version, (select last_value >= 0 from ${schema}.woken) as woken from ${schema}.state`))
      .rows,
  ).toEqual([{ version: 5, woken: true }]);
  await (await open(place.location, { create: false })).close();
  // PostgreSQL keeps a function with other parameters beside a new one.
  const { rows } = await sql(
    `select proname::text as name, pronargs as parameters from pg_proc where pronamespace = '${schema}'::regnamespace
      and (proname = 'commit_group' or proname like '%page%' or proname like 'rows%') order by 1, 2`,
  );
  const each = (name: string, parameters: number) =>
    ["all", "one", "some"].map((choice) => ({ name: `${name}_${choice}`, parameters }));
  const readers = [...each("raw_page", 16), ...each("rows_below", 14), ...each("view_page", 13)];
  expect(rows).toEqual([{ name: "commit_group", parameters: 51 }, ...readers]);
});

/** Makes `commit_group` with the parameters that it had before version 3, and drops the present one. */
function functionOfVersion2(schema: string): string {
  const types =
    "text, int8, int8, text, int4[], bytea[], bytea[], int4[], int8[], int8[], int4[], bytea[], bytea[], int4[], int4[], int4[], " +
    "int4[], int4[], int4[], bytea[], bytea[], bytea[], bytea[], int4[], int8[], int8[], " +
    "int4[], int4[], bytea[], bytea[], int4[], int8[], int8[], int4[], int4[], bytea[], bytea[], int4[], int8[], bytea[], " +
    "int4, int4[], int4[]";
  return `
    drop function ${schema}.commit_group;
    create function ${schema}.commit_group(${types}) returns void language sql as '';
    ${pageFunctionsOfVersion4(schema)}
  `;
}

/** Makes the functions that read pages with the parameters that they had before version 5, and drops the present ones. */
function pageFunctionsOfVersion4(schema: string): string {
  const common = "int4, bytea, bytea, bytea, bytea, bytea, bytea[], bytea[], bytea[]";
  const make = (name: string, types: string) => `
    drop function ${schema}.${name};
    create function ${schema}.${name}(${common}, ${types}) returns void language sql as '';`;
  return ["all", "one", "some"]
    .map(
      (choice) =>
        make(`view_page_${choice}`, "int8, int8, int8") +
        make(`raw_page_${choice}`, "int4[], int8, int8, int8, int8, int8") +
        make(`rows_below_${choice}`, "int8, int8, int8, int8"),
    )
    .join("");
}

/** What there is in a schema: relations, functions with their text, and the version. */
async function schemaContents(sql: (query: string) => Promise<{ rows: unknown[] }>, schema: string) {
  const name = `'${schema.replaceAll("'", "''")}'::regnamespace`;
  const { rows } = await sql(`
    select relname::text, '' as text, relacl::text as grants from pg_class where relnamespace = ${name}
    union all select proname::text, pg_get_functiondef(oid), proacl::text from pg_proc where pronamespace = ${name}
    union all select 'version', version::text, '' from ${schema}.state
    order by 1, 2
  `);
  return rows;
}

const initAt = (location: string) => new ProgramProcess("src/cli/main.ts", ["init", location]);

test("several processes that run `percolator init` at once all succeed, on nothing and on older tables", async () => {
  const older = await olderPlace();
  const fresh = await newPlace();
  onTestFinished(() => removePlace(fresh));
  for (const place of [fresh, older.place]) {
    const processes = [1, 2, 3, 4].map(() => initAt(place.location));
    for (const each of processes) {
      await each.ended();
      expect([each.end, each.errors]).toEqual(["0", ""]);
    }
    await using db = await open(place.location, { create: false, tables: [documents] });
    const kept = await db.transact((tx) => tx.get(documents.contents, "a"));
    expect(kept).toBe(place === fresh ? undefined : "kept");
  }
  expect((await older.sql(`select version from ${older.schema}.state`)).rows).toEqual([{ version: 5 }]);
});

test("an owner who is no superuser upgrades at open and by `percolator init`, and keeps what is there", async () => {
  const { place, schema, sql } = await olderPlace();
  const owner = `owner_${process.pid}`;
  await sql(`create role ${owner} login; alter schema ${schema} owner to ${owner}`);
  const { rows } = await sql(`
    select format('alter %s %s owner to ${owner}', kind, name) as change from (
      select case relkind when 'S' then 'sequence' else 'table' end as kind, oid::regclass::text as name from pg_class
      where relnamespace = '${schema}'::regnamespace and (relkind = 'r' or relkind = 'S' and relname = 'woken')
      union all select 'function', oid::regprocedure::text from pg_proc where pronamespace = '${schema}'::regnamespace
    ) owned
  `);
  for (const { change } of rows) await sql(change as string);
  onTestFinished(async () => {
    await sql(`drop owned by ${owner} cascade; drop role ${owner}`);
  });
  const { location } = placeAt(place.host, place.schema, owner);
  for (const upgrade of ["open", "init"]) {
    if (upgrade === "open") await (await open(location)).close();
    else {
      const { code, stdout } = await (await CommandLine.create()).run(["init", location]);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^completed: schema/)]);
    }
    await using db = await open(location, { create: false, tables: [documents] });
    expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBe("kept");
    expect((await sql(`select version from ${schema}.state`)).rows).toEqual([{ version: 5 }]);
    await sql(`update ${schema}.state set version = 1`);
  }
});

test("tables of a newer version are refused by open and `percolator init`, and nothing is changed", async () => {
  const { place, schema, sql } = await olderPlace();
  await sql(`update ${schema}.state set version = 99`);
  const before = await schemaContents(sql, schema);
  await expect(open(place.location)).rejects.toMatchObject({
    code: "STORE_VERSION",
    message: expect.stringContaining("Upgrade the package"),
  });
  expect(await (await CommandLine.create()).run(["init", place.location])).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("Upgrade the package"),
  });
  expect(await schemaContents(sql, schema)).toEqual(before);
});

test("a process that was open during the upgrade of a newer package is told to restart, and commits nothing", async () => {
  const { place, schema, sql } = await olderPlace();
  await using db = await open(place.location, { tables: [documents] });
  // The functions of a newer version take other parameters.
  await sql(`alter function ${schema}.commit_group rename to commit_newer_group;
    update ${schema}.state set version = 99`);
  await expect(db.transact((tx) => tx.set(documents.contents, "a", "lost"))).rejects.toMatchObject({
    code: "STORE",
    message: expect.stringContaining("another version of the package has upgraded"),
  });
  expect(await db.transact((tx) => tx.get(documents.contents, "a"))).toBe("kept");
});

test("an upgrade that waits for that of a newer package changes nothing of it", async () => {
  const { place, schema, sql } = await olderPlace();
  await withSuperuser(place.host, async (pool) => {
    const newer = await pool.connect();
    await newer.query("begin");
    await newer.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`percolatordb ${schema}`]);
    const opening = open(place.location).then((db) => db.close());
    opening.catch(() => undefined);
    const { rows } = await newer.query("select pg_backend_pid() as pid");
    const waiting = () =>
      pool.query("select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))", [rows[0].pid]);
    await expect.poll(async () => (await waiting()).rows.length).toBe(1);
    await newer.query(`update ${schema}.state set version = 99`);
    const before = await schemaContents((query) => newer.query(query), schema);
    await newer.query("commit");
    newer.release();
    await expect(opening).rejects.toMatchObject({
      code: "STORE_VERSION",
      message: expect.stringContaining("version 99"),
    });
    expect(await schemaContents(sql, schema)).toEqual(before);
  });
});

test("a role that owns nothing upgrades nothing, and is told who can", async () => {
  const { place, schema, sql } = await olderPlace();
  const role = `upgrader_${process.pid}`;
  await sql(`create role ${role} login; grant usage on schema ${schema} to ${role};
    grant select, insert, update, delete on all tables in schema ${schema} to ${role}`);
  onTestFinished(async () => {
    await sql(`drop owned by ${role}; drop role ${role}`);
  });
  const { location } = placeAt(place.host, place.schema, role);
  const before = await schemaContents(sql, schema);
  await expect(open(location)).rejects.toMatchObject({
    code: "STORE_VERSION",
    message: expect.stringContaining("percolator init"),
  });
  expect(await (await CommandLine.create()).run(["init", location])).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("as the user who owns them"),
  });
  expect(await schemaContents(sql, schema)).toEqual(before);
  expect((await sql(`select version from ${schema}.state`)).rows).toEqual([{ version: 1 }]);
});
