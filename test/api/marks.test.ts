import { json, type OpenOptions, SchemaError, table, text } from "percolatordb";
import { uniqueConstraint } from "percolatordb/recipes";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definition } from "../../src/schema/index.js";
import { everyVariant, withTwo } from "../support/databases.js";

/*
 * The catalog records that a column has a schema, and which column is written together with a
 * constraint's table. A tool without the program's module reads this, and refuses to write such
 * columns.
 */

const strict = table("people", { profile: json(z.object({ city: z.string() })), email: text() });
const loose = table("people", { profile: json(), email: text() });
const emails = uniqueConstraint("emails", strict.email, { by: (email) => email });
const other = uniqueConstraint("emails", table("teams", { email: text() }).email, { by: (email) => email });

describe.each(everyVariant)("$store, $commit", (variant) => {
  test("marks are recorded by the first program that declares them, and stay", async () => {
    const options: OpenOptions = { collectEveryMs: 0 };
    await withTwo(variant, options, async (one, two) => {
      const recorded = async (db = two) =>
        (await db.tables()).get("people")![definition].columns.get("profile")!;
      const use = (db: typeof one, declared: typeof loose | typeof strict) =>
        db.transact(async (tx) => tx.get(declared.profile, "ann"));
      // First an earlier version of the program records the table, without a schema.
      await use(one, loose);
      await expect.poll(async () => (await recorded()).codec?.hasSchema).toBe(false);
      await use(two, strict);
      await expect.poll(async () => (await recorded(one)).codec?.hasSchema).toBe(true);
      // The earlier version runs again, and removes nothing from the catalog.
      await use(one, loose);
      await use(one, table("people", { profile: json() }) as never as typeof loose);
      await one.transact((tx) => tx.set(loose.profile, "ann", { city: "Bergen" }));
      expect((await recorded()).codec?.hasSchema).toBe(true);
      const untyped = (await two.tables()).get("people") as typeof loose | undefined;
      expect(await two.transact((tx) => tx.get(untyped!.profile, "ann"))).toEqual({ city: "Bergen" });
      const write = two.transact(async (tx) => tx.set(untyped!.profile, "ann", {}));
      await expect(write).rejects.toThrow(SchemaError);

      await one.transact((tx) => emails.set(tx, "ann", "ann@example.org"));
      const kept = async () => (await two.tables()).get("emails")?.[definition].writtenWith;
      await expect.poll(kept).toEqual({ table: "people", column: "email" });
      const clash = two.transact((tx) => other.set(tx, "team", "x@example.org"));
      await expect(clash).rejects.toThrow(/emails is recorded as written with column people\.email/);
      expect(await two.check()).toEqual([]);
    });
  });
});
