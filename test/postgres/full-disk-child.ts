/**
 * Starts a server whose tables are on the small file system `FOLDER`, and whose log is not:
 * `full-disk-child.ts FOLDER`. Fills the file system through two databases and a worker, frees
 * space, and goes on. Prints what it found as JSON.
 */
import { chown, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { open } from "percolatordb";
import { serverAccount, startPostgres } from "../../examples/support/postgres-server.js";
import { placeAt, withSuperuser } from "../support/postgres/index.js";
import { Filling, fillingOptions } from "./filling.js";

const [folder] = process.argv.slice(2) as [string];
const ballast = join(folder, "ballast");
/** The disk counts as full after so many refusals in a row. */
const refusalsWhenFull = 30;
const maxWrites = 10_000;

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
  const [db, other] = [await open(location, fillingOptions), await open(location, fillingOptions)];
  const worker = other.work();

  const filling = new Filling(db);
  for (let number = 0, refusals = 0; number < maxWrites && refusals < refusalsWhenFull; number++) {
    refusals = (await filling.write(`${number}`)) ? 0 : refusals + 1;
  }
  const full = { wrong: await filling.wrong(), problems: (await db.check()).length };

  await rm(ballast);
  const stored = filling.stored;
  for (let number = 0; number < 20; number++) await filling.write(`later ${number}`);
  const parked = [];
  for await (const change of db.parked()) parked.push(change);
  for (const change of parked) await db.retry(change);
  await db.drain();
  await worker.stop();
  const after = {
    stored: filling.stored - stored,
    wrong: await filling.wrong(),
    problems: (await db.check()).length,
  };
  const found = {
    stored,
    errors: [...filling.errors],
    full,
    after,
    parked: parked.length,
    ...(await filling.runs()),
  };
  process.stdout.write(`${JSON.stringify(found)}\n`);
  await Promise.all([db.close(), other.close()]);
} finally {
  await server.stop();
}
