import { type FileHandle, open, rm } from "node:fs/promises";
import { ExportDamagedError, StoreError } from "../../errors/index.js";
import { UsageError } from "../usage-error.js";
import { BlockReader, type ReadBlock } from "./block-reader.js";
import type { ExportHeader, RowLine } from "./format.js";
import { gzipMember, readMembers } from "./gzip-member.js";

/** The sound contents of an export file that was cut. */
export interface CutExport {
  readonly header: ExportHeader;
  /** The last whole block. */
  readonly block: ReadBlock;
  /** The last line of that block, or undefined if the file holds only the header. */
  readonly lastLine: RowLine | undefined;
}

/**
 * The file that an export writes to: a new file, or one that was cut and that the export continues.
 */
export class ExportFile {
  /** The contents of a file that was cut, or undefined for a new file. */
  readonly cut: CutExport | undefined;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #isNew: boolean;
  readonly #compress: boolean;
  #end: number;

  private constructor(
    path: string,
    file: FileHandle,
    isNew: boolean,
    cut: CutExport | undefined,
    end: number,
  ) {
    this.#path = path;
    this.#file = file;
    this.#isNew = isNew;
    this.cut = cut;
    this.#end = end;
    this.#compress = isCompressed(path);
  }

  /**
   * Opens a file for an export. If the file holds an export that was cut, the new export continues
   * it. Opening changes nothing in the file.
   *
   * @throws UsageError if the file holds something else and `replace` is false.
   */
  static async open(path: string, replace: boolean): Promise<ExportFile> {
    const refuse = (error: Error) => {
      throw new UsageError(`The file ${path} cannot be written: ${error.message}`);
    };
    const created = await open(path, "wx+").catch((error: NodeJS.ErrnoException) =>
      error.code === "EEXIST" ? undefined : refuse(error),
    );
    const file = created ?? (await open(path, "r+").catch(refuse));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) {
        throw new UsageError(
          `${path} is not a file. Without a file, the export goes to the standard output.`,
        );
      }
      const isEmpty = replace || stats.size === 0;
      const found = isEmpty ? undefined : await findCut(path, file);
      return new ExportFile(path, file, created !== undefined, found?.cut, found?.end ?? 0);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Bytes in the file, including those of earlier runs. */
  get bytes(): number {
    return this.#end;
  }

  /**
   * Drops everything after the last whole block, or the whole file if it must be replaced. The
   * caller calls this before the first write.
   */
  begin(): Promise<void> {
    return this.#attempt(() => this.#file.truncate(this.#end));
  }

  /** Appends a block, or the last line. */
  async write(text: Uint8Array): Promise<void> {
    const bytes = this.#compress ? gzipMember(text) : text;
    await this.#attempt(async () => {
      for (let at = 0; at < bytes.length; ) {
        at += (await this.#file.write(bytes, at, bytes.length - at, this.#end + at)).bytesWritten;
      }
    });
    this.#end += bytes.length;
  }

  /** Resolves when everything written is on disk. */
  flush(): Promise<void> {
    return this.#attempt(() => this.#file.sync());
  }

  /** Closes the file. Removes it if it is new and nothing was written. */
  async close(): Promise<void> {
    await this.#file.close();
    if (this.#isNew && this.#end === 0) await rm(this.#path, { force: true });
  }

  async #attempt(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (cause) {
      throw new StoreError(
        `The file ${this.#path} could not be written: ${(cause as Error).message}. Fix the cause and run the same command again: it continues the file.`,
        { cause },
      );
    }
  }
}

/** Whether the name says that the file is compressed. */
function isCompressed(path: string): boolean {
  return path.endsWith(".gz");
}

async function findCut(
  path: string,
  file: FileHandle,
): Promise<{ readonly cut: CutExport; readonly end: number }> {
  const ends = new Map<number, number>();
  const reader = new BlockReader(isCompressed(path) ? textOfMembers(file, ends) : textOf(file), path);
  let last: ReadBlock | undefined;
  try {
    for await (const block of reader.blocks()) last = block;
  } catch (error) {
    if (!(error instanceof ExportDamagedError)) throw error;
  }
  const { header } = reader;
  const end = last === undefined || !isCompressed(path) ? last?.textBytes : ends.get(last.textBytes);
  if (header === undefined || last === undefined || end === undefined) {
    throw new UsageError(
      `${path} exists, and is not the beginning of an export. To replace it, give --force.`,
    );
  }
  if (reader.isWhole) {
    throw new UsageError(
      `${path} is already a complete export, as of ${header.time}. To replace it, give --force.`,
    );
  }
  const line = last.block === 0 ? undefined : (JSON.parse(last.lines.at(-1)!) as RowLine);
  return { cut: { header, block: last, lastLine: line }, end };
}

async function* textOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(65_536), 0, 65_536, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * Yields the decompressed text of an export, and fills `ends`. For each gzip member, `ends` maps
 * the length of all text up to the member's end to the position of that end in the file.
 */
async function* textOfMembers(file: FileHandle, ends: Map<number, number>): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const { text, end } of readMembers(file)) {
    length += text.length;
    ends.set(length, end);
    yield text;
  }
}
