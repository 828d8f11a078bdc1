import { postgresStore } from "percolatordb/postgres";
import { storeConformance } from "percolatordb/testing";
import { afterAll, describe, it } from "vitest";
import { newPlace, type PostgresPlace, removePlace } from "../support/postgres/index.js";

const used: PostgresPlace[] = [];

afterAll(async () => {
  for (const each of used) await removePlace(each);
});

storeConformance(
  "the store on PostgreSQL without prepared statements or waiting for the flush",
  async () => {
    const place = await newPlace();
    used.push(place);
    const { host, schema } = place;
    const connection = { host, user: "postgres", database: "postgres" };
    return postgresStore({ connection, schema, durability: "none", prepare: false, connections: 2 });
  },
  { describe, it, atomicBatches: true, seeds: [5] },
);
