/**
 * The sources of pages: web archives, folders of HTML and Markdown, and the packages of a project.
 */
import { open, stat } from "node:fs/promises";
import { basename } from "node:path";
import { folderSource } from "./folder.js";
import { findModules, modulesSource } from "./modules.js";
import { type Source, SourceError } from "./page.js";
import { readArchive } from "./warc/index.js";

export { findModules } from "./modules.js";
export {
  type Gone,
  maxBodyBytes,
  type Page,
  type Problem,
  type ProblemKind,
  type Progress,
  type Skipped,
  type Source,
  SourceError,
  type SourceItem,
  type Unchanged,
} from "./page.js";

export interface SourceOptions {
  /** For a folder: the URL at which it is published. A missing `/` at the end is added. */
  readonly base?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the source at `path`: a web archive (a file with the name `.warc` or `.warc.gz`, or with
 * the first bytes of an archive), a `node_modules` folder, or another folder. Throws a {@link
 * SourceError} for anything else.
 */
export async function openSource(path: string, options: SourceOptions = {}): Promise<Source> {
  options.signal?.throwIfAborted();
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    const absent = error.code === "ENOENT" || error.code === "ENOTDIR";
    const why = absent ? "There is no such file or folder" : `It cannot be read (${error.message})`;
    throw new SourceError(path, `${why}: ${path}. Give a web archive (.warc, .warc.gz) or a folder`, {
      cause: error,
    });
  });
  if (found.isDirectory()) {
    return basename(path) === "node_modules"
      ? modulesSource(path, options.base)
      : folderSource(path, options.base);
  }
  if (!found.isFile())
    throw new SourceError(path, `${path} is neither a file nor a folder. Give a web archive or a folder`);
  if (!(await isArchive(path))) {
    const instead = "Give a web archive (.warc, .warc.gz), or the folder that holds the pages";
    throw new SourceError(
      path,
      `${path} is no web archive: it begins with neither a WARC record nor gzip. ${instead}`,
    );
  }
  if (options.base !== undefined) {
    throw new SourceError(
      path,
      `${path} is a web archive, which has its URLs in it. Give a base for folders only`,
    );
  }
  return { kind: "archive", path, scope: undefined, items: (signal) => readArchive(path, signal) };
}

/** Opens the default source: the packages of the project that contains `from`. */
export async function openDefaultSource(from: string, options: SourceOptions = {}): Promise<Source> {
  const modules = await findModules(from);
  if (modules !== undefined) return openSource(modules, options);
  const message = `There is no node_modules folder at or above ${from}. Name a web archive (.warc, .warc.gz) or a folder`;
  throw new SourceError(from, message);
}

/**
 * Decides by the name, so that an archive with a damaged beginning still counts as an archive. If
 * the name does not decide, decides by the first bytes.
 */
async function isArchive(path: string): Promise<boolean> {
  if (/\.warc(\.gz)?$/i.test(path)) return true;
  const handle = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    throw new SourceError(path, `${path} cannot be read (${error.message})`, { cause: error });
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(5), 0, 5, 0);
    const beginning = buffer.subarray(0, bytesRead).toString("latin1");
    return beginning === "WARC/" || beginning.startsWith("\x1f\x8b");
  } finally {
    await handle.close();
  }
}
