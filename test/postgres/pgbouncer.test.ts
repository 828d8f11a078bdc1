import { describe, expect, test } from "vitest";
import { openAlone } from "../support/databases.js";
import { locationBehind, newPlace, removePlace } from "../support/postgres/index.js";
import { hasPgBouncer, startPgBouncer } from "../support/postgres/pgbouncer.js";
import { CountingClients, counting } from "./counting-clients.js";

// Without PgBouncer the tests are skipped, but not in CI.
if (!hasPgBouncer && process.env.CI !== undefined) {
  throw new Error("PgBouncer is not installed: apt-get install pgbouncer.");
}

describe.skipIf(!hasPgBouncer)("behind PgBouncer", () => {
  test.each([
    { mode: "session", query: "" },
    { mode: "session", query: "&prepare=false" },
    { mode: "transaction", query: "&prepare=false" },
  ] as const)(
    "in $mode mode with $query, transactions and observers work as without it",
    async ({ mode, query }) => {
      const place = await newPlace();
      try {
        await using bouncer = await startPgBouncer(place.host, mode);
        const location = `${locationBehind(bouncer, place.schema)}${query}`;
        const databases = [await openAlone(location, counting), await openAlone(location, counting)];
        const workers = databases.map((db) => db.work());
        const clients = databases.map((db, index) => new CountingClients(db, `process ${index}, `, 8));
        for (const each of clients) await each.progress(200);
        for (const each of clients) await each.stop();
        await databases[0]!.drain();
        for (const worker of workers) await worker.stop();
        expect(clients.map(({ unknown }) => unknown)).toEqual([0, 0]);
        // Not through PgBouncer.
        await using other = await openAlone(place.location, counting);
        await CountingClients.expectSound(other, clients);
        for (const db of databases) await db.close();
      } finally {
        await removePlace(place);
      }
    },
  );

  test("in transaction mode, prepared statements fail with what to set", async () => {
    const place = await newPlace();
    try {
      await using bouncer = await startPgBouncer(place.host, "transaction");
      await (await openAlone(place.location, counting)).close();
      // Sooner or later a statement runs on a connection that another session has prepared.
      const use = async () => {
        for (;;) {
          const db = await openAlone(locationBehind(bouncer, place.schema), counting);
          const clients = new CountingClients(db, "", 8);
          await clients.progress(50).catch(() => undefined);
          await clients.stop().finally(() => db.close());
        }
      };
      await expect(use()).rejects.toMatchObject({
        code: "STORE",
        message: expect.stringContaining("`prepare=false`"),
      });
    } finally {
      await removePlace(place);
    }
  });
});
