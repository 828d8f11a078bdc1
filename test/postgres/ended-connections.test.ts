import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { openAlone } from "../support/databases.js";
import {
  newPlace,
  type PostgresPlace,
  placeAt,
  removePlace,
  withSuperuser,
} from "../support/postgres/index.js";
import { CountingClients, counting } from "./counting-clients.js";

/** How many commits of the clients come between two disturbances. */
const commitsBetween = 40;

const options = { ...counting, collectEveryMs: 0 };

/**
 * Clients of one database commit, and a worker of another one runs their observers, while `disturb`
 * is called `times` times. Expects that nothing is lost or doubled, and that the worker still runs
 * by itself what is committed afterwards.
 */
async function expectUndisturbed(
  location: string,
  times: number,
  disturb: () => Promise<void>,
): Promise<void> {
  const patient = `${location}&deadlineMs=60000`;
  const db = await openAlone(patient, options);
  const other = await openAlone(patient, options);
  const worker = other.work();
  const clients = new CountingClients(db);
  try {
    for (let time = 0; time < times; time++) {
      await clients.progress(commitsBetween);
      await disturb();
    }
    await clients.progress(commitsBetween);
  } finally {
    await clients.stop();
  }
  await CountingClients.expectHandled(db, times);
  await db.drain();
  await worker.stop();
  // What these two databases see is in no cache of theirs alone.
  await using fresh = await openAlone(patient, options);
  for (const each of [db, other, fresh]) await CountingClients.expectSound(each, [clients]);
  await db.close();
  await other.close();
}

describe("connections that the server ends under load", () => {
  let place: PostgresPlace;
  let role: string;

  const sql = (query: string, values: readonly unknown[] = []) =>
    withSuperuser(place.host, (pool) => pool.query(query, [...values]));

  beforeEach(async () => {
    place = await newPlace();
    role = `ended_${process.pid}_${place.schema.replace(/\D/g, "")}`;
    await sql(`create role ${role} login superuser`);
  });

  afterEach(async () => {
    await removePlace(place);
    await sql(`drop role ${role}`);
  });

  test.each([
    ["that commit", "%.commit_group(%"],
    ["that flush", "%.flush(%"],
    ["that listen", "listen %"],
  ])("those %s: nothing is lost or doubled, and the worker still hears commits", async (_, last) => {
    const { location } = placeAt(place.host, place.schema, role);
    let ended = 0;
    await expectUndisturbed(location, 8, async () => {
      await expect
        .poll(
          async () => {
            const { rows } = await sql(
              "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and query like $2",
              [role, last],
            );
            ended += rows.length;
            return rows.length;
          },
          { interval: 1 },
        )
        .toBeGreaterThan(0);
    });
    expect(ended).toBeGreaterThanOrEqual(8);
  });
});

describe("a server that restarts under load", () => {
  let server: PostgresServer;

  beforeEach(async () => {
    server = await startPostgres();
  });

  afterEach(() => server.stop());

  test("the workers go on, and no database shows what is not there", () =>
    expectUndisturbed(placeAt(server.host, "restarting").location, 3, () => server.restart()));
});
