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
