import { postgresStore } from "percolatordb/postgres";
import { expect, test } from "vitest";
import { newPlace, removePlace } from "../support/postgres/index.js";
import { calls, FaultyPool } from "./faulty-pool.js";

test("a commit does not fail because another one names a table that cannot be made", async () => {
  const place = await newPlace();
  const pool = new FaultyPool(place.host);
  const { schema } = place;
  const before = await postgresStore({ pool, schema });
  await before.prepare(["there"]);
  await before.close();
  const store = await postgresStore({ pool, schema });
  // The role may not insert into `tables`.
  pool.interfere = (query, send) =>
    calls(query, "need_table") && query.values?.[0] === "new"
      ? Promise.reject(
          Object.assign(new Error("permission denied for table tables"), {
            code: "42501",
            severity: "ERROR",
          }),
        )
      : send();
  const put = (table: string) =>
    store.mutate({
      table,
      row: Buffer.from("r"),
      guards: [],
      mutations: [
        { type: "put", column: Buffer.from("c"), part: "data", timestamp: 1, value: Buffer.from("v") },
      ],
    });
  const [refused, applied] = await Promise.allSettled([put("new"), put("there")]);
  expect(refused).toMatchObject({ status: "rejected" });
  expect(applied).toEqual({ status: "fulfilled", value: "applied" });
  await store.close();
  await pool.end();
  await removePlace(place);
});
