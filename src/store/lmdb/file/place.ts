import { statSync } from "node:fs";
import { join } from "node:path";
import { StoreMovedError } from "../../../errors/index.js";

/** The files that LMDB keeps open. */
const files = ["data.mdb", "lock.mdb"] as const;

interface File {
  readonly name: (typeof files)[number];
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * The identity of a folder's files when LMDB opened them. LMDB never looks them up by name again.
 * If a file were deleted, a process would write into the deleted file. If the lock file were
 * replaced, two processes would write at the same time.
 */
export class FolderPlace {
  readonly #folder: string;
  #files: readonly File[];

  /**
   * Must be constructed before LMDB opens the folder. After LMDB has opened it, call {@link
   * complete}.
   */
  constructor(folder: string) {
    this.#folder = folder;
    this.#files = this.#found();
  }

  /**
   * Call this when LMDB has just opened the folder. A file that was there before and is unchanged
   * is the file that LMDB has opened. This method adds the files that LMDB has made. A read-only
   * file system may have no lock file.
   *
   * @throws StoreMovedError if a file was replaced meanwhile, since LMDB may have opened either
   * file.
   */
  complete(): void {
    this.check();
    this.#files = this.#found();
  }

  #found(): readonly File[] {
    return files.flatMap((name) => {
      const found = this.#identify(name);
      return found === undefined ? [] : [{ name, ...found }];
    });
  }

  /**
   * Throws unless the same files still have their names.
   *
   * @throws StoreMovedError if a file was deleted, renamed or replaced.
   */
  check(): void {
    for (const { name, device, inode } of this.#files) {
      const found = this.#identify(name);
      if (found?.device === device && found.inode === inode) continue;
      const became = found === undefined ? "deleted or renamed" : "replaced by another file";
      throw new StoreMovedError(
        `${name} of the database in ${this.#folder} was ${became} while this process had it open. This process writes no more. End all ` +
          `processes that have the database open, ${found === undefined ? "put the file back" : "put the original file there"} or restore a backup, and start them again. ` +
          "A lock.mdb needs no backup: LMDB creates it when no process has the database open.",
      );
    }
  }

  #identify(name: string): { readonly device: bigint; readonly inode: bigint } | undefined {
    const found = statSync(join(this.#folder, name), { bigint: true, throwIfNoEntry: false });
    return found && { device: found.dev, inode: found.ino };
  }
}
