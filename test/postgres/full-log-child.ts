/**
 * Starts a server whose log of writes is on the small file system `FOLDER`: `full-log-child.ts FOLDER`.
 * Fills it, so that the server ends, frees space, starts the server again, and goes on. Prints what it
 * found as JSON.
 */
import { execFile } from "node:child_process";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { open } from "percolatordb";
import { startPostgres } from "../../examples/support/postgres-server.js";
import { placeAt } from "../support/postgres/index.js";
import { Filling, fillingOptions } from "./filling.js";

const [folder] = process.argv.slice(2) as [string];
const ballast = join(folder, "ballast");
const maxWrites = 20_000;

// No checkpoint makes room before the file system is full.
const server = await startPostgres({ settings: ["max_wal_size=10GB", "checkpoint_timeout=1h"] });
try {
  await server.end();
  const log = join(server.host, "data/pg_wal");
  await promisify(execFile)("cp", ["-a", log, join(folder, "pg_wal")]);
  await rm(log, { recursive: true });
  await symlink(join(folder, "pg_wal"), log);
  await writeFile(ballast, Buffer.alloc(48 * 1024 * 1024));
  await server.start();
  const { location } = placeAt(server.host, "full");
  const [db, other] = [await open(location, fillingOptions), await open(location, fillingOptions)];
  const worker = other.work();

  const filling = new Filling(db, 5_000);
  for (let number = 0; number < maxWrites && (await filling.write(`${number}`)); number++);
  const stored = filling.stored;

  await rm(ballast);
  // It has ended, or could start again by itself.
  await server.end().catch(() => undefined);
  await server.start();
  for (let tries = 0; tries < 30 && !(await filling.write(`room ${tries}`)); tries++);
  const withRoom = filling.stored;
  for (let number = 0; number < 20; number++) await filling.write(`later ${number}`);
  const later = filling.stored - withRoom;
  for await (const change of db.parked()) await db.retry(change);
  await db.drain();
  await worker.stop();

  const found = {
    stored,
    errors: [...filling.errors],
    later,
    wrong: await filling.wrong(),
    problems: (await db.check()).length,
    ...(await filling.runs()),
  };
  process.stdout.write(`${JSON.stringify(found)}\n`);
  await Promise.all([db.close(), other.close()]);
} finally {
  await server.stop();
}
