/**
 * Starts a server whose tables are on the small file system `FOLDER`, and whose log is not:
 * `full-disk-child.ts FOLDER`. Fills the file system through two databases and a worker, frees
 * space, and goes on. Prints what it found as JSON.
 */
import { randomBytes } from "node:crypto";
import { chown, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bytes, int, observer, open, PercolatorError, table } from "percolatordb";
import { serverAccount, startPostgres } from "../../examples/support/postgres-server.js";
import { placeAt, withSuperuser } from "../support/postgres/index.js";

const [folder] = process.argv.slice(2) as [string];
const ballast = join(folder, "ballast");
/** The disk counts as full after so many refusals in a row. */
const refusalsWhenFull = 30;
const maxWrites = 10_000;

const files = table("files", { contents: bytes(), size: int(), runs: int() });
const measure = observer("measure", files.contents, async (tx, { row, value }) => {
  tx.set(files.size, row, value?.length ?? 0);
  tx.set(files.runs, row, ((await tx.get(files.runs, row)) ?? 0) + 1);
});
const options = { tables: [files], observers: [measure], collectEveryMs: 0 };

const server = await startPostgres();
try {
  const account = await serverAccount();
  const tablespace = join(folder, "tables");
  await mkdir(tablespace);
  if (account !== undefined) await chown(tablespace, account.uid, account.gid);
  await withSuperuser(server.host, async (pool) => {
    await pool.query(`create tablespace small location '${tablespace}'`);
    await pool.query("alter role postgres set default_tablespace = small");
  });
  await writeFile(ballast, Buffer.alloc(4 * 1024 * 1024));
  const { location } = placeAt(server.host, "full");
  const [db, other] = [await open(location, options), await open(location, options)];
  const worker = other.work();

  const stored = new Set<string>();
  const refused = new Set<string>();
  const errors = new Set<string>();
  /** Writes two rows in one transaction. Random bytes cannot be compressed. */
  const write = async (name: string): Promise<boolean> => {
    const contents = randomBytes(30_000);
    try {
      await db.transact((tx) => {
        for (const half of ["a", "b"]) tx.set(files.contents, `${name} ${half}`, contents);
      });
      stored.add(name);
      return true;
    } catch (error) {
      errors.add(error instanceof PercolatorError ? error.code : String(error));
      refused.add(name);
      return false;
    }
  };
  for (let number = 0, refusals = 0; number < maxWrites && refusals < refusalsWhenFull; number++) {
    refusals = (await write(`${number}`)) ? 0 : refusals + 1;
  }

  /** Stored names that lack a row, and refused names that have one. */
  const wrong = async () => {
    await using snapshot = await db.snapshot();
    const rows = new Set<string>();
    for await (const { row } of snapshot.scan(files.contents)) rows.add(row);
    const has = (name: string) => ["a", "b"].filter((half) => rows.has(`${name} ${half}`)).length;
    return (
      [...stored].filter((name) => has(name) !== 2).length +
      [...refused].filter((name) => has(name) > 0).length
    );
  };
  const full = { wrong: await wrong(), problems: (await db.check()).length };

  await rm(ballast);
  const beforeRoom = stored.size;
  for (let number = 0; number < 20; number++) await write(`later ${number}`);
  const parked = [];
  for await (const change of db.parked()) parked.push(change);
  for (const change of parked) await db.retry(change);
  await db.drain();
  await worker.stop();
  await using snapshot = await db.snapshot();
  let unmeasured = 0;
  let doubled = 0;
  for await (const { value } of snapshot.scan(files)) {
    if (value.size !== 30_000) unmeasured++;
    if (value.runs !== 1) doubled++;
  }
  const after = {
    stored: stored.size - beforeRoom,
    wrong: await wrong(),
    problems: (await db.check()).length,
  };
  const found = {
    stored: beforeRoom,
    errors: [...errors],
    full,
    after,
    parked: parked.length,
    unmeasured,
    doubled,
  };
  process.stdout.write(`${JSON.stringify(found)}\n`);
  await Promise.all([db.close(), other.close()]);
} finally {
  await server.stop();
}
