import { int, open, table } from "percolatordb";
import { expect, test } from "vitest";
import { newPlace, removePlace } from "../support/postgres/index.js";

const pages = table("pages", { visits: int() });

test("a commit goes on at once after another process has changed the registry", async () => {
  const place = await newPlace();
  try {
    await using one = await open(place.location, { tables: [pages] });
    for (let change = 1; change <= 3; change++) {
      // Opening reads the registry, so that the copy of this process is new.
      await using other = await open(place.location, { tables: [pages] });
      const added = table(`added_${change}`, { visits: int() });
      await one.transact((tx) => tx.set(added.visits, "one", change));
      await other.transact((tx) => tx.set(pages.visits, "other", change));
      expect(await one.transact((tx) => tx.get(pages.visits, "other"))).toBe(change);
    }
  } finally {
    await removePlace(place);
  }
});
