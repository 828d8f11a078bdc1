import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

/** A file below a folder. */
export interface Listed {
  /** The path from the folder, with parts joined by `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: number;
}

/**
 * A folder or file that could not be listed. Its path begins at the folder that is walked. The path
 * of a folder in it ends in `/`, and the path of the walked folder itself is `""`.
 */
export interface Unlisted {
  readonly path: string;
  readonly message: string;
}

export interface Listing {
  /** Ordered by path, in UTF-16 code units. */
  readonly files: readonly Listed[];
  readonly unlisted: readonly Unlisted[];
}

export interface WalkOptions {
  /** Whether to list a file, by its name. */
  file(name: string): boolean;
  /** Whether to descend into a folder, by its name. */
  folder(name: string): boolean;
  /**
   * The most files to list. If there are more, the whole folder counts as not listed. Default:
   * 1,000,000.
   */
  readonly most?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const maxFiles = 1_000_000;

/**
 * Lists the files below `root`. A link to a file counts as a file. Links to folders are followed
 * after all real folders, and only to folders that were not visited yet. So loops end, and a page
 * keeps the path of its real folder.
 */
export async function walk(root: string, options: WalkOptions): Promise<Listing> {
  const walker = new Walker(root, options);
  await walker.run();
  const files = walker.files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, unlisted: walker.unlisted };
}

class Walker {
  readonly files: Listed[] = [];
  readonly unlisted: Unlisted[] = [];
  readonly #root: string;
  readonly #options: WalkOptions;
  readonly #visited = new Set<string>();
  #links: string[] = [];

  constructor(root: string, options: WalkOptions) {
    this.#root = root;
    this.#options = options;
  }

  async run(): Promise<void> {
    await this.#folders([""]);
    // Following links may find further links.
    while (this.#links.length > 0) {
      const links = this.#links.sort((a, b) => (a.slice(0, -1) < b.slice(0, -1) ? -1 : 1));
      this.#links = [];
      for (const link of links) await this.#folders([link]);
    }
  }

  /**
   * Visits these folders and the real folders below them. Uses no recursion, so that deep folders
   * need no stack.
   */
  async #folders(pending: string[]): Promise<void> {
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      this.#options.signal?.throwIfAborted();
      const { most = maxFiles } = this.#options;
      if (this.files.length >= most) {
        // The remaining folders and links are not visited, because the whole folder counts as not
        // listed.
        this.unlisted.push({
          path: "",
          message: `The folder holds more than ${most} files; load its parts`,
        });
        pending.length = 0;
        this.#links = [];
        return;
      }
      await this.#visit(path, pending);
    }
  }

  async #visit(path: string, pending: string[]): Promise<void> {
    try {
      const real = await realpath(join(this.#root, path));
      if (this.#visited.has(real)) return;
      this.#visited.add(real);
      for (const entry of await readdir(real, { withFileTypes: true }))
        await this.#entry(path, entry, pending);
    } catch (error) {
      this.#fail(path, error);
    }
  }

  async #entry(parent: string, entry: Dirent, pending: string[]): Promise<void> {
    const path = parent + entry.name;
    if (entry.isDirectory()) {
      if (this.#options.folder(entry.name)) pending.push(`${path}/`);
    } else if (entry.isFile()) {
      if (this.#options.file(entry.name)) await this.#file(path);
    } else if (
      entry.isSymbolicLink() &&
      (this.#options.file(entry.name) || this.#options.folder(entry.name))
    ) {
      await this.#link(path, entry.name);
    }
  }

  async #link(path: string, name: string): Promise<void> {
    const target = await stat(join(this.#root, path)).catch((error: NodeJS.ErrnoException) => error);
    if (target instanceof Error) {
      // A broken link is not a file. Documentation trees contain many of them.
      const dangling = target.code === "ENOENT" || target.code === "ELOOP";
      if (!dangling && this.#options.file(name)) this.#fail(path, target);
    } else if (target.isDirectory()) {
      if (this.#options.folder(name)) this.#links.push(`${path}/`);
    } else if (target.isFile() && this.#options.file(name)) {
      this.files.push({ path, bytes: target.size, modifiedAt: target.mtimeMs });
    }
  }

  async #file(path: string): Promise<void> {
    try {
      const { size, mtimeMs } = await stat(join(this.#root, path));
      this.files.push({ path, bytes: size, modifiedAt: mtimeMs });
    } catch (error) {
      this.#fail(path, error);
    }
  }

  #fail(path: string, error: unknown): void {
    if (!(error instanceof Error) || (error as NodeJS.ErrnoException).syscall === undefined) throw error;
    this.unlisted.push({ path, message: `It cannot be read (${error.message})` });
  }
}
