/** How a copy of a database becomes the database of a folder that has none. */
import { mkdir, readdir, rename, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { clearPublished, openStore } from "../database/index.js";
import type { Environment } from "../environment/index.js";
import { BackupError } from "../errors/index.js";
import { endSessions } from "../observer/index.js";
import type { RowStore } from "../store/index.js";
import { flushFolder, makeFolder, systemNames } from "./folder-storage.js";
import { systemFailure } from "./system-failure.js";

/** What makes the copy. */
type Maker = "restore" | "compaction";

/** In the folder, while the copy is made. */
const workFolders: Readonly<Record<Maker, string>> = { restore: "restoring", compaction: "compacting" };
const failures: Readonly<Record<Maker, string>> = {
  restore: "The backup could not be restored",
  compaction: "The database could not be copied",
};

/**
 * Makes a folder, and lets `make` write the file of its database into a work folder. The file gets its
 * place by a rename, so nobody can open a part of it. If the call fails, the folder is as it was
 * before.
 *
 * @throws BackupError if the folder is not empty.
 */
export async function inNewFolder<T>(
  folder: string,
  maker: Maker,
  make: (work: string) => Promise<{ readonly file: string; readonly report: T }>,
): Promise<T> {
  const work = join(folder, workFolders[maker]);
  const isNew = await prepare(folder, maker);
  const made = [work];
  let report: T;
  try {
    const copy = await make(work);
    // Another process may have made a database here meanwhile.
    refuseOthers(folder, maker, await namesIn(folder, work));
    const file = join(folder, basename(copy.file));
    await rename(copy.file, file);
    made.push(file);
    await flushFolder(folder);
    report = copy.report;
  } catch (error) {
    for (const each of made) await rm(each, { recursive: true, force: true }).catch(() => undefined);
    if (isNew) await rmdir(folder).catch(() => undefined);
    throw systemFailure(error, `${failures[maker]} into ${folder}`);
  }
  // The database has its place. A work folder that stays harms nobody.
  await rm(work, { recursive: true, force: true }).catch(() => undefined);
  return report;
}

/** Makes the folder and its work folder. Resolves to whether the folder is new. */
async function prepare(folder: string, maker: Maker): Promise<boolean> {
  try {
    const isNew = (await makeFolder(folder)) !== undefined;
    const others = await namesIn(folder);
    const work = others.find((name) => Object.values(workFolders).includes(name));
    if (work !== undefined) {
      throw new BackupError(
        `Another ${work === workFolders.restore ? "restore" : "compaction"} into ${folder} runs, or was killed. If none runs, delete ${join(folder, work)} and try again.`,
      );
    }
    refuseOthers(folder, maker, others);
    await mkdir(join(folder, workFolders[maker]));
    return isNew;
  } catch (error) {
    throw systemFailure(error, `${failures[maker]} into ${folder}`);
  }
}

async function namesIn(folder: string, work?: string): Promise<readonly string[]> {
  const own = work && basename(work);
  return (await readdir(folder)).filter((name) => !systemNames.has(name) && name !== own);
}

function refuseOthers(folder: string, maker: Maker, names: readonly string[]): void {
  if (names.length === 0) return;
  const hasDatabase = names.some((name) => name.startsWith("data.mdb"));
  const what = hasDatabase ? "holds a database already" : `holds ${names[0]}`;
  throw new BackupError(
    `${folder} ${what}, and a ${maker} never overwrites anything. Name a folder that is empty or does not exist. To use it in ` +
      "place of the other one, end all processes that have the database open, and rename the folders.",
  );
}

/**
 * The processes that were sessions of the database that was copied do not use the copy. Their records
 * must not look alive, nor hold back collection. Then changes the store as `also` says. Resolves to
 * the number of these sessions.
 */
export async function settleCopy(
  folder: string,
  environment: Environment,
  also?: (store: RowStore) => Promise<void>,
): Promise<number> {
  const store = await openStore(folder, { create: false }, environment);
  try {
    const { atomic } = store;
    const next = () => atomic!.next();
    // Also makes the counter of the new database larger than all timestamps of the other one.
    await next();
    const ended = await endSessions(store, next);
    await clearPublished(store);
    await also?.(store);
    return ended;
  } finally {
    await store.close();
  }
}
