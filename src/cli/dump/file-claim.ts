import { readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Environment } from "../../environment/index.js";
import { StoreError } from "../../errors/index.js";

/**
 * Claims a file for one writer, by an empty file beside it that is named after this process. Of two that begin at
 * the same time, at least one sees the other. Claims of processes that were killed are removed.
 *
 * @returns a function that releases the file.
 * @throws StoreError if another writer has claimed the file.
 */
export async function claimFile(path: string, environment: Environment): Promise<() => Promise<void>> {
  const folder = dirname(path);
  const prefix = `${basename(path)}.writer-`;
  const own = `${prefix}${encodeURIComponent(environment.processName)}@${environment.uniqueId()}`;
  const release = () => rm(join(folder, own), { force: true });
  // A folder that cannot be written may still have a file that can. Whether it can, its opening tells.
  await writeFile(join(folder, own), "").catch(() => undefined);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix) && each !== own)) {
    const writer = decodeURIComponent(name.slice(prefix.length, name.lastIndexOf("@")));
    const place = join(folder, name);
    if (environment.isRunning(writer) === false) {
      await rm(place, { force: true });
      continue;
    }
    await release();
    throw new StoreError(
      `Process ${writer} is writing ${path}. Wait for its end, or name another file. If it has ended, remove ${place}.`,
    );
  }
  return release;
}
