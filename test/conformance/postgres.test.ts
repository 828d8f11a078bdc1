import { postgresStore } from "percolatordb/postgres";
import { storeConformance } from "percolatordb/testing";
import { afterAll, describe, it } from "vitest";
import { newPlace, type PostgresPlace, removePlace, storeAt } from "../support/postgres/index.js";

const used: PostgresPlace[] = [];

async function place(): Promise<PostgresPlace> {
  const made = await newPlace();
  used.push(made);
  return made;
}

afterAll(async () => {
  for (const each of used) await removePlace(each);
});

storeConformance("the store on PostgreSQL", async () => storeAt(await place()), {
  describe,
  it,
  atomicBatches: true,
});

storeConformance(
  "the store on PostgreSQL without prepared statements or waiting for the flush",
  async () => {
    const { host, schema } = await place();
    const connection = { host, user: "postgres", database: "postgres" };
    return postgresStore({ connection, schema, durability: "none", prepare: false, connections: 2 });
  },
  { describe, it, atomicBatches: true, seeds: [5] },
);
