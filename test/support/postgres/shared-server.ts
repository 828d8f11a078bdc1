import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { guardPostgres, runningPostgres } from "../../../examples/support/postgres-server.js";

/** The environment variable that names the folder in which test processes find the server. */
export const folderVariable = "PERCOLATORDB_TEST_POSTGRES";
/** The file in that folder that holds the server's own folder. */
export const hostFile = "host";

/**
 * Called by vitest once before all test files. Starts nothing: the first test that needs the server
 * does.
 */
export async function setup(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-shared-"));
  process.env[folderVariable] = folder;
  // After Ctrl-C, nothing is torn down.
  guardPostgres(join(folder, hostFile), folder);
}

/** Called by vitest after all test files. Ends the server, if a test has started it. */
export async function teardown(): Promise<void> {
  const folder = process.env[folderVariable]!;
  const file = join(folder, hostFile);
  if (existsSync(file)) await (await runningPostgres(await readFile(file, "utf8"))).stop();
  await rm(folder, { recursive: true, force: true });
}
