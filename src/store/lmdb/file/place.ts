import { statSync } from "node:fs";
import { join } from "node:path";
import { StoreMovedError } from "../../../errors/index.js";

/** Files that LMDB has open, each with what happens if a process goes on without it. */
const files = ["data.mdb", "lock.mdb"] as const;

interface File {
  readonly name: (typeof files)[number];
  readonly device: bigint;
  readonly inode: bigint;
}

/**
 * The files of a folder as they stood when LMDB opened them. LMDB never looks at them again by
 * name: a process would write into a deleted data file, or, with another lock file than the other
 * processes, at the same time as they do.
 */
export class FolderPlace {
  readonly #folder: string;
  #files: readonly File[];

  /** To be made before LMDB opens the folder; see {@link complete}. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#files = this.#found();
  }

  /**
   * To be called when LMDB has just opened the folder: what stood before and stands still is what
   * LMDB has opened. Adds the files that LMDB has made. On a file system that can only be read
   * there may be no lock file.
   *
   * @throws StoreMovedError if a file was replaced meanwhile: LMDB may have opened the one or the
   * other.
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
   * Throws unless the files still stand under their names.
   *
   * @throws StoreMovedError
   */
  check(): void {
    for (const { name, device, inode } of this.#files) {
      const found = this.#identify(name);
      if (found?.device === device && found.inode === inode) continue;
      const became = found === undefined ? "deleted or renamed" : "replaced by another file";
      throw new StoreMovedError(
        `${name} of the database in ${this.#folder} was ${became} while this process had it open. Nothing more is written. End all ` +
          `processes that have the database open, ${found === undefined ? "put the file back" : "put the right file there"} or restore a backup, and start them again. ` +
          "A lock.mdb needs no backup: LMDB makes it when no process has the database open.",
      );
    }
  }

  #identify(name: string): { readonly device: bigint; readonly inode: bigint } | undefined {
    const found = statSync(join(this.#folder, name), { bigint: true, throwIfNoEntry: false });
    return found && { device: found.dev, inode: found.ino };
  }
}
