import { postgresStore } from "percolatordb/postgres";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openAlone } from "../support/databases.js";
import {
  locationBehind,
  newPlace,
  type PostgresPlace,
  removePlace,
  startProxy,
} from "../support/postgres/index.js";
import type { NetworkProxy } from "../support/proxy/index.js";
import { pause } from "../support/waiting.js";
import { CountingClients, counting } from "./counting-clients.js";

let place: PostgresPlace;
let proxy: NetworkProxy;

beforeEach(async () => {
  place = await newPlace();
  proxy = await startProxy(place.host);
});

afterEach(async () => {
  await proxy.close();
  await removePlace(place);
});

/** Causes a fault and ends it, while clients are at work. */
const faults: Readonly<Record<string, () => Promise<void>>> = {
  "all connections are cut": async () => proxy.cut(),
  "requests are lost before the server has them": () => proxy.cutAtCall("up"),
  "answers are lost after the server has committed": () => proxy.cutAtCall("down"),
  "everything is late": async () => {
    proxy.delay(10);
    await pause(100);
    proxy.delay(0);
  },
  "requests arrive after their connection has ended": async () => {
    proxy.silence("up");
    await pause(30);
    proxy.heal();
    proxy.cut();
  },
  "requests and answers are held, then lost": async () => {
    proxy.silence();
    await pause(50);
    proxy.cut();
    proxy.heal();
  },
  "the server cannot be reached for a while": async () => {
    proxy.refuse();
    proxy.cut();
    await pause(50);
    proxy.heal();
  },
};

const rounds = 5;
const commitsBetween = 60;

describe("a network on which", () => {
  test.each(Object.entries(faults))("%s loses no acknowledged commit and doubles none", async (_, strike) => {
    // The deadline is never reached, so every outcome must be found out.
    const location = `${locationBehind(proxy, place.schema)}&deadlineMs=60000`;
    const db = await openAlone(location, counting);
    const worker = db.work();
    const clients = new CountingClients(db, "", 12);
    try {
      for (let round = 0; round < rounds; round++) {
        await clients.progress(commitsBetween);
        await strike();
      }
      await clients.progress(commitsBetween);
    } finally {
      proxy.heal();
      await clients.stop();
    }
    await db.drain();
    await worker.stop();
    expect(clients.unknown).toBe(0);
    // Not through the proxy, and without anything that a cache knows.
    await using other = await openAlone(place.location, counting);
    await CountingClients.expectSound(other, [clients]);
    await db.close();
  });

  test("a commit can be neither sent nor asked about until the deadline is unknown, never failed", async () => {
    const deadlineMs = 1_000;
    // Makes the tables, which may take longer than the deadline.
    await (await openAlone(place.location, counting)).close();
    const db = await openAlone(`${locationBehind(proxy, place.schema)}&deadlineMs=${deadlineMs}`, counting);
    const clients = new CountingClients(db, "", 12);
    try {
      for (let round = 0; round < rounds; round++) {
        const before = clients.unknown;
        // The silence may begin when every client reads. Then no commit is under way.
        while (clients.unknown === before) {
          await clients.progress(commitsBetween);
          proxy.silence("down");
          await pause(2 * deadlineMs);
          proxy.cut();
          proxy.heal();
        }
      }
      await clients.progress(commitsBetween);
    } finally {
      proxy.heal();
      await clients.stop();
    }
    await using other = await openAlone(place.location, counting);
    await other.drain();
    await CountingClients.expectSound(other, [clients]);
    await db.close();
  });
});

describe("the proxy cuts a query", () => {
  /** Sends a query through the proxy. Returns whether it was answered, and what the server has. */
  async function insert(way: "up" | "down", name?: string) {
    const client = new Client({ connectionString: locationBehind(proxy, place.schema) });
    client.on("error", () => undefined);
    await client.connect();
    const direct = new Client({ host: place.host, user: "postgres", database: "postgres" });
    await direct.connect();
    const table = `"${place.schema.replaceAll('"', '""')}".inserted`;
    await direct.query(
      `create schema "${place.schema.replaceAll('"', '""')}"; create table ${table} (n int)`,
    );
    const query = { name, text: `insert into ${table} values ($1)` };
    await client.query({ ...query, values: [1] });
    const cut = proxy.cutAtCall(way);
    await expect(client.query({ ...query, values: [2] })).rejects.toThrow();
    await cut;
    const { rows } = await direct.query(`select n from ${table} order by n`);
    await direct.end();
    return rows.map(({ n }) => n);
  }

  test.each([undefined, "prepared"])("before the server has it (statement %s)", async (name) => {
    expect(await insert("up", name)).toEqual([1]);
  });

  test.each([undefined, "prepared"])("after the server has done it (statement %s)", async (name) => {
    expect(await insert("down", name)).toEqual([1, 2]);
  });
});

test("a failover to another address of the same server is only a pause", async () => {
  const store = await postgresStore({
    connection: locationBehind(proxy, place.schema).replace(/\?.*/, ""),
    schema: place.schema,
  });
  expect(await store.atomic!.next()).toBeGreaterThan(0);
  const { target } = proxy;
  proxy.target = "127.0.0.1:1";
  proxy.cut();
  const waiting = store.atomic!.next();
  await pause(20);
  proxy.target = target;
  expect(await waiting).toBeGreaterThan(0);
  await store.close();
});
