import { postgresStore } from "percolatordb/postgres";
import { storeConformance } from "percolatordb/testing";
import { afterAll, describe, it } from "vitest";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";

const used: PostgresPlace[] = [];

async function place() {
  const made = await newPlace();
  used.push(made);
  return { connection: { host: made.host, user: "postgres", database: "postgres" }, schema: made.schema };
}

afterAll(async () => {
  for (const each of used) await removePlace(each);
});

storeConformance("the store on PostgreSQL", async () => postgresStore(await place()), {
  describe,
  it,
  atomicBatches: true,
});

storeConformance(
  "the store on PostgreSQL without prepared statements or waiting for the flush",
  async () => postgresStore({ ...(await place()), durability: "none", prepare: false, connections: 2 }),
  { describe, it, atomicBatches: true, seeds: [5] },
);
