import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type * as stores from "../../src/store/postgres/store.js";
import { openAlone } from "../support/databases.js";
import { newPlace, removePlace } from "../support/postgres/index.js";

/** `percolator worker` may load a module of TypeScript with a copy of this package of its own. */
test("another copy of the package finds the connections of a store", async () => {
  const path = fileURLToPath(new URL("../../src/store/postgres/store.ts", import.meta.url));
  const copy = (await import(/* @vite-ignore */ `${path}?copy`)) as typeof stores;
  const place = await newPlace();
  await using db = await openAlone(place.location);
  expect(db.openedStore).not.toBeInstanceOf(copy.PostgresStore);
  expect(copy.settingOf(db.openedStore)?.connections.place).toBe(db.openedStore.description);
  expect(copy.settingOf({})).toBeUndefined();
  await db.close();
  await removePlace(place);
});
