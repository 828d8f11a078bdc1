import { normalizeUrl } from "../../text/url.js";
import type { ProblemKind, Progress, SourceItem } from "../page.js";
import { ArchiveFile } from "./file.js";
import { itemOf } from "./items.js";
import { readRecords } from "./records.js";

/**
 * Reads a web archive: a WARC file, plain or gzip. A gzip member may contain one record, several
 * records, or a part of one. Unreadable parts are yielded as problems with their offset, and
 * everything before and after them is read. Needs memory for one and a half records, at most about
 * 50 MB.
 */
export async function* readArchive(path: string, signal?: AbortSignal): AsyncGenerator<SourceItem, void> {
  let file: ArchiveFile | undefined;
  let position = 0;
  const progress = (offset: number): Progress => {
    position = Math.max(position, file?.position ?? 0);
    return { file: path, offset, position, total: file?.size ?? 0 };
  };
  const problem = (what: ProblemKind, offset: number, message: string, url?: string): SourceItem => {
    return { kind: "problem", what, ...progress(offset), url, message };
  };
  try {
    file = await ArchiveFile.open(path, signal);
    if (file.size === 0) yield problem("damage", 0, "The file is empty");
    for await (const entry of readRecords(file)) {
      signal?.throwIfAborted();
      if (entry.kind === "fault") {
        yield problem(entry.what, entry.offset, entry.message, entry.url && normalizeUrl(entry.url));
        continue;
      }
      const item = await itemOf(entry.record, progress(entry.record.offset));
      if (item) yield item;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (!isSystemError(error)) throw error;
    yield problem("unreadable", file?.position ?? 0, `The file cannot be read (${error.message})`);
  } finally {
    await file?.close();
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined;
}
