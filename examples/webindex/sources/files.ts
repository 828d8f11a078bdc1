import { open } from "node:fs/promises";
import { join } from "node:path";
import { contentTypeOfFile, looksBinary } from "../text/media.js";
import { maxUrlBytes, normalizeUrl, urlFitsKey } from "../text/url.js";
import { maxBodyBytes, type ProblemKind, type Progress, type SourceItem } from "./page.js";
import { type Listed, walk } from "./walk.js";

/** A folder to read file by file. Each file is a page. */
export interface FileSet {
  readonly root: string;
  /** The URL of the folder itself. It ends in `/`. */
  readonly scope: string;
  /** Whether to descend into a folder, by its name. */
  folder(name: string): boolean;
}

/**
 * Yields the pages of a folder, ordered by path. Folders and files that cannot be listed come
 * first.
 */
export async function* readFiles(set: FileSet, signal?: AbortSignal): AsyncGenerator<SourceItem, void> {
  const file = (name: string) => contentTypeOfFile(name) !== undefined;
  const { files, unlisted } = await walk(set.root, { file, folder: set.folder, signal });
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let position = 0;
  for (const { path, message } of unlisted) {
    const url = fileUrl(path, set.scope);
    yield {
      kind: "problem",
      what: "unreadable",
      file: join(set.root, path),
      offset: 0,
      position,
      total,
      url,
      message,
    };
  }
  for (const listed of files) {
    signal?.throwIfAborted();
    position += listed.bytes;
    yield await fileItem(listed, set, { file: join(set.root, listed.path), offset: 0, position, total });
  }
}

/**
 * Returns the URL of a file: its path from the folder, resolved against the folder's URL. So
 * relative links to the file lead to it. Characters with a meaning in URLs are percent-encoded.
 */
export function fileUrl(path: string, scope: string): string {
  const escaped = path.replace(/[%?#\\\t\n\r]/g, encodeURIComponent);
  return normalizeUrl(`./${escaped}`, scope) ?? scope;
}

async function fileItem(listed: Listed, set: FileSet, progress: Progress): Promise<SourceItem> {
  const url = fileUrl(listed.path, set.scope);
  const problem = (what: ProblemKind, message: string): SourceItem => {
    return { kind: "problem", what, ...progress, url, message };
  };
  if (!urlFitsKey(url)) return problem("too long", `Its URL is longer than ${maxUrlBytes} bytes`);
  try {
    const body = await readWhole(progress.file);
    if (!body) return problem("too long", `The page is too long; at most ${maxBodyBytes} bytes are loaded`);
    const contentType = contentTypeOfFile(listed.path)!;
    if (looksBinary(body, contentType)) {
      return { kind: "skipped", ...progress, url, reason: "not a text, but binary" };
    }
    return {
      kind: "page",
      ...progress,
      url,
      contentType,
      body,
      digest: undefined,
      at: Math.trunc(listed.modifiedAt),
    };
  } catch (error) {
    if (!(error instanceof Error) || (error as NodeJS.ErrnoException).syscall === undefined) throw error;
    return problem("unreadable", `The file cannot be read (${error.message})`);
  }
}

/**
 * Reads a file, or returns `undefined` if it is too long. The limit holds even if the file has
 * grown since it was listed.
 */
async function readWhole(path: string): Promise<Uint8Array | undefined> {
  const handle = await open(path, "r");
  try {
    const { size } = await handle.stat();
    if (size > maxBodyBytes) return undefined;
    const body = new Uint8Array(size);
    let filled = 0;
    while (filled < size) {
      const { bytesRead } = await handle.read(body, filled, size - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled === size ? body : body.slice(0, filled);
  } finally {
    await handle.close();
  }
}
