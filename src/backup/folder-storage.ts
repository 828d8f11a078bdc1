import { access, link, lstat, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Environment } from "../environment/index.js";
import { BackupError } from "../errors/index.js";
import { makeFolders } from "../store/index.js";
import type { BackupStorage } from "./storage.js";
import { codeOf, systemFailure } from "./system-failure.js";

/** What the name of a file begins with until it is complete. */
const unfinished = ".unfinished-";
/** Files and folders that operating systems make. */
export const systemNames: ReadonlySet<string> = new Set([
  ".DS_Store",
  "desktop.ini",
  "Thumbs.db",
  "lost+found",
]);

/** What `link` fails with on file systems that have no hard links, such as FAT, exFAT and some of networks. */
const withoutLinks: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "ENOSYS", "EISDIR"]);

/** Keeps each object in a file of its own, in a folder. */
export class FolderStorage implements BackupStorage {
  readonly description: string;
  readonly #folder: string;
  readonly #environment: Environment;
  readonly #made = new Set<string>();

  constructor(folder: string, environment: Environment) {
    this.description = folder;
    this.#folder = folder;
    this.#environment = environment;
  }

  put(name: string, bytes: Uint8Array): Promise<void> {
    return this.#doing(`write ${name}`, () =>
      this.#write(name, bytes, async (made, path) => {
        await rename(made, path);
      }),
    );
  }

  create(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#doing(`write ${name}`, async () => {
      let created = true;
      await this.#write(name, bytes, async (made, path) => {
        created = await nameNew(made, path);
      });
      return created;
    });
  }

  get(name: string): Promise<Buffer | undefined> {
    return this.#doing(`read ${name}`, async () => {
      try {
        return await readFile(join(this.#folder, name));
      } catch (error) {
        if (codeOf(error) === "ENOENT") return undefined;
        throw error;
      }
    });
  }

  async *list(prefix: string): AsyncGenerator<string> {
    const names = await this.#doing("list the backups", () => this.#files(prefix));
    for (const name of names.sort()) yield `${prefix}${name}`;
  }

  delete(name: string): Promise<void> {
    return this.#doing(`delete ${name}`, async () => {
      await this.#refuseLink(dirname(name));
      await rm(join(this.#folder, name), { force: true });
    });
  }

  clean(): Promise<void> {
    return this.#doing("remove what killed processes have left", async () => {
      for (const folder of ["", ...(await this.#folders())]) {
        for (const name of await readdir(join(this.#folder, folder))) {
          if (name.startsWith(unfinished)) await rm(join(this.#folder, folder, name), { force: true });
        }
      }
    });
  }

  async #folders(): Promise<readonly string[]> {
    const entries = await readdir(this.#folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && !systemNames.has(entry.name))
      .map(({ name }) => name);
  }

  async #files(prefix: string): Promise<string[]> {
    try {
      const entries = await readdir(join(this.#folder, prefix), { withFileTypes: true });
      const isDone = ({ name }: { readonly name: string }) =>
        !name.startsWith(unfinished) && !systemNames.has(name);
      return entries.filter((entry) => isDone(entry)).map(({ name }) => name);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  async #write(
    name: string,
    bytes: Uint8Array,
    finish: (made: string, path: string) => Promise<void>,
  ): Promise<void> {
    const path = join(this.#folder, name);
    const folder = dirname(path);
    await this.#make(folder);
    await this.#refuseLink(dirname(name));
    const made = join(folder, `${unfinished}${this.#environment.uniqueId()}`);
    try {
      const file = await open(made, "wx");
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await finish(made, path);
    } catch (error) {
      await rm(made, { force: true }).catch(() => undefined);
      throw error;
    }
    await flushFolder(folder);
  }

  async #make(folder: string): Promise<void> {
    if (this.#made.has(folder)) return;
    await makeFolder(folder);
    this.#made.add(folder);
  }

  /** Others may write to the place. What a backup deletes must not be the files that a link leads to. */
  async #refuseLink(name: string): Promise<void> {
    const folder = join(this.#folder, name);
    // The place itself may be a link.
    const found = name === "." ? undefined : await lstat(folder).catch(() => undefined);
    if (found?.isSymbolicLink() !== true) return;
    throw new BackupError(`${folder} is a link. Put the folder itself in its place, or name another place.`);
  }

  async #doing<T>(doing: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw systemFailure(error, `It was not possible to ${doing} in ${this.#folder}`);
    }
  }
}

/** Moves a file to `path`, or removes it if `path` exists. Resolves to whether it was moved. */
async function nameNew(made: string, path: string): Promise<boolean> {
  let isNew = true;
  try {
    await link(made, path);
  } catch (error) {
    const code = codeOf(error);
    if (withoutLinks.has(code) && !(await exists(path))) {
      // If two processes come at the same time, the last one has the name, as in a bucket without conditions.
      await rename(made, path);
      return true;
    }
    if (code !== "EEXIST" && !withoutLinks.has(code)) throw error;
    isNew = false;
  }
  await rm(made);
  return isNew;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/**
 * Makes a folder and those above it, so that they survive a stop of the machine. Resolves to the first
 * that was made.
 */
export async function makeFolder(folder: string): Promise<string | undefined> {
  const whole = resolve(folder);
  const first = await makeFolders(whole);
  if (first === undefined) return undefined;
  const made: string[] = [];
  for (let each = whole; each.length >= first.length; each = dirname(each)) made.push(each);
  try {
    for (const each of made) await flushFolder(dirname(each));
  } catch (error) {
    for (const each of made) await rmdir(each).catch(() => undefined);
    throw error;
  }
  return first;
}

/** Makes the names in a folder survive a stop of the machine. Some systems cannot flush a folder. */
export async function flushFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code !== "EISDIR" && code !== "EPERM" && code !== "EINVAL" && code !== "EACCES") throw error;
  }
}
