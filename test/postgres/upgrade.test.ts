import { open, table, text } from "percolatordb";
import { expect, onTestFinished, test } from "vitest";
import { newPlace, placeAt, removePlace, withSuperuser } from "../support/postgres/index.js";

const documents = table("documents", { contents: text() });

/** A place whose tables are as version 1 made them: without what wakes other processes. */
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
  ).toEqual([{ version: 2, woken: true }]);
  await (await open(place.location, { create: false })).close();
});

test("a role that owns nothing upgrades nothing, and is told who can", async () => {
  const { place, schema, sql } = await olderPlace();
  const role = `upgrader_${process.pid}`;
  await sql(`create role ${role} login; grant usage on schema ${schema} to ${role};
    grant select, insert, update, delete on all tables in schema ${schema} to ${role}`);
  onTestFinished(async () => {
    await sql(`drop owned by ${role}; drop role ${role}`);
  });
  await expect(open(placeAt(place.host, place.schema, role).location)).rejects.toMatchObject({
    code: "STORE_VERSION",
    message: expect.stringContaining("percolator init"),
  });
  expect((await sql(`select version from ${schema}.state`)).rows).toEqual([{ version: 1 }]);
});
