import { CommitOutcomeUnknownError, type Database, int, observer, open, table } from "percolatordb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../examples/postgres-export/testing/server.js";
import { placeAt } from "../support/postgres/index.js";

const counters = table("counters", { value: int(), doubled: int() });
const double = observer("double", counters.value, (tx, { row, value }) =>
  tx.set(counters.doubled, row, 2 * (value ?? 0)),
);

const clients = 24;
const crashes = 3;
/** How many commits of all clients come before each crash. */
const commitsBetween = 150;

let server: PostgresServer;

beforeEach(async () => {
  server = await startPostgres();
});

afterEach(() => server.stop());

interface Client {
  readonly row: string;
  /** Commits that were acknowledged, and commits with an unknown outcome. */
  acknowledged: number;
  unknown: number;
}

async function add(db: Database, client: Client): Promise<void> {
  const { row } = client;
  try {
    await db.transact(
      async (tx) => {
        tx.set(counters.value, row, ((await tx.get(counters.value, row)) ?? 0) + 1);
        // A row that all clients change, so that transactions conflict.
        if (Number(row) % 4 === 0) {
          tx.set(counters.value, "all", ((await tx.get(counters.value, "all")) ?? 0) + 1);
        }
      },
      { retries: 10_000, timeoutMs: 100_000 },
    );
    client.acknowledged++;
  } catch (error) {
    if (!(error instanceof CommitOutcomeUnknownError)) throw error;
    client.unknown++;
  }
}

test("when the server crashes under load, acknowledged commits are there, and none twice", async () => {
  const { location } = placeAt(server.host, "crashing");
  const options = { tables: [counters], observers: [double] };
  // The server needs a while to recover. A deadline that is never reached keeps time out of the test.
  const db = await open(`${location}&deadlineMs=60000`, options);
  const worker = db.work();
  const all: Client[] = Array.from({ length: clients }, (_, index) => ({
    row: `${index}`,
    acknowledged: 0,
    unknown: 0,
  }));
  const done = () => all.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
  let isOver = false;
  const running = all.map(async (client) => {
    while (!isOver) await add(db, client);
  });
  try {
    for (let crash = 0; crash < crashes; crash++) {
      const target = done() + commitsBetween;
      await expect.poll(done).toBeGreaterThanOrEqual(target);
      await server.crash();
    }
    const target = done() + commitsBetween;
    await expect.poll(done).toBeGreaterThanOrEqual(target);
  } finally {
    isOver = true;
    await Promise.all(running);
  }
  await db.drain();
  await worker.stop();
  // A second process sees the same, so nothing is only in a cache.
  await using other = await open(location, { tables: [counters] });
  await using snapshot = await other.snapshot();
  for (const { row, acknowledged, unknown } of all) {
    const value = (await snapshot.get(counters.value, row)) ?? 0;
    expect(value, `client ${row}`).toBeGreaterThanOrEqual(acknowledged);
    expect(value, `client ${row}`).toBeLessThanOrEqual(acknowledged + unknown);
    expect(await snapshot.get(counters.doubled, row), `client ${row}`).toBe(2 * value);
  }
  const some = all.filter(({ row }) => Number(row) % 4 === 0);
  const values = await snapshot.getMany(
    counters.value,
    some.map(({ row }) => row),
  );
  expect(await snapshot.get(counters.value, "all")).toBe(
    values.reduce((sum: number, value) => sum + value!, 0),
  );
  expect(await other.check()).toEqual([]);
  await db.close();
});
