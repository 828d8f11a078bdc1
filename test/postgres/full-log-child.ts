/**
 * Starts a server whose log of writes is on the small file system `FOLDER`: `full-log-child.ts FOLDER`.
 * Fills it, so that the server ends, frees space, starts the server again, and goes on. Prints what it
 * found as JSON.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bytes, int, observer, open, PercolatorError, table } from "percolatordb";
import { startPostgres } from "../../examples/support/postgres-server.js";
import { placeAt } from "../support/postgres/index.js";

const [folder] = process.argv.slice(2) as [string];
const ballast = join(folder, "ballast");
const maxWrites = 20_000;

const files = table("files", { contents: bytes(), size: int(), runs: int() });
const measure = observer("measure", files.contents, async (tx, { row, value }) => {
  tx.set(files.size, row, value?.length ?? 0);
  tx.set(files.runs, row, ((await tx.get(files.runs, row)) ?? 0) + 1);
});
const options = { tables: [files], observers: [measure], collectEveryMs: 0 };

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
  const [db, other] = [await open(location, options), await open(location, options)];
  const worker = other.work();

  const stored = new Set<string>();
  const refused = new Set<string>();
  const errors = new Set<string>();
  /** Writes two rows in one transaction. Random bytes cannot be compressed. */
  const write = async (name: string): Promise<boolean> => {
    const contents = randomBytes(30_000);
    try {
      await db.transact(
        (tx) => {
          for (const half of ["a", "b"]) tx.set(files.contents, `${name} ${half}`, contents);
        },
        { timeoutMs: 5_000 },
      );
      stored.add(name);
      return true;
    } catch (error) {
      const code = error instanceof PercolatorError ? error.code : String(error);
      errors.add(code);
      if (code !== "COMMIT_OUTCOME_UNKNOWN") refused.add(name);
      return false;
    }
  };
  let number = 0;
  while (number < maxWrites && (await write(`${number}`))) number++;
  const beforeRoom = stored.size;

  await rm(ballast);
  // It has ended, or could start again by itself.
  await server.end().catch(() => undefined);
  await server.start();
  for (let tries = 0; tries < 30 && !(await write(`room ${tries}`)); tries++);
  for (let later = 0; later < 20; later++) await write(`later ${later}`);
  for await (const change of db.parked()) await db.retry(change);
  await db.drain();
  await worker.stop();

  await using snapshot = await db.snapshot();
  const rows = new Set<string>();
  let unmeasured = 0;
  let doubled = 0;
  for await (const { row, value } of snapshot.scan(files)) {
    rows.add(row);
    if (value.size !== 30_000) unmeasured++;
    if (value.runs !== 1) doubled++;
  }
  const has = (name: string) => ["a", "b"].filter((half) => rows.has(`${name} ${half}`)).length;
  const found = {
    stored: beforeRoom,
    errors: [...errors],
    lost: [...stored].filter((name) => has(name) !== 2).length,
    half: [...rows].filter((row) => has(row.slice(0, -2)) !== 2).length,
    refusedAndStored: [...refused].filter((name) => has(name) > 0).length,
    unmeasured,
    doubled,
    problems: (await db.check()).length,
  };
  process.stdout.write(`${JSON.stringify(found)}\n`);
  await Promise.all([db.close(), other.close()]);
} finally {
  await server.stop().catch(() => undefined);
}
