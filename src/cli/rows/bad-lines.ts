import { type FileHandle, open } from "node:fs/promises";
import { UsageError } from "../usage-error.js";
import type { FileRecord } from "./record.js";
import type { RefusedRecord } from "./row-mapping.js";

/** The part of a rejected record that the report repeats, in bytes. */
const maxTextBytes = 64 * 1024;

/** A record that was rejected, and why. */
export interface BadLine {
  readonly line: number;
  readonly column: string | null;
  readonly reason: string;
  /** The record as it is in the file, at most 64 KiB of it. */
  readonly text: string;
}

export function badLine(
  { line, bytes }: Pick<FileRecord, "line" | "bytes">,
  refused: RefusedRecord,
): BadLine {
  const text = bytes.toString("utf8", 0, maxTextBytes).replace(/^(\ufeff|\r?\n)+|\r?\n$/g, "");
  return { line, column: refused.column ?? null, reason: refused.message, text };
}

/** What a report begins with. */
const beginning = Buffer.from('{"line":');

/** More than the longest line of a report. */
const maxLineBytes = 1024 * 1024;

/**
 * The length of the whole lines in the first `bytes` of a file. It is less than `bytes` if the file is not the
 * report that they were counted in: another program has written it since.
 */
async function wholeLines(file: FileHandle, bytes: number): Promise<number> {
  const from = Math.max(0, bytes - maxLineBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes - from), { position: from });
  return from + buffer.subarray(0, bytesRead).lastIndexOf("\n") + 1;
}

/** The report of rejected records: a file of JSON lines. */
export class BadLineFile {
  readonly #file: FileHandle;
  #bytes: number;

  private constructor(file: FileHandle, bytes: number) {
    this.#file = file;
    this.#bytes = bytes;
  }

  /**
   * Opens the file, and removes what it has beyond the whole lines in the first `bytes`.
   *
   * @throws UsageError if it cannot be written, or is another file than a report.
   */
  static async open(path: string, bytes: number): Promise<BadLineFile> {
    const file = await open(path, "a+").catch((error: Error) => {
      throw new UsageError(`The file ${path} cannot be written: ${error.message}`);
    });
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new UsageError(`${path} is not a file. Name a file with --bad.`);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(beginning.length), { position: 0 });
      // A crash may have cut the first line of a report.
      if (!buffer.subarray(0, bytesRead).equals(beginning.subarray(0, bytesRead))) {
        throw new UsageError(
          `${path} exists, and is no report of rejected lines. Name another file with --bad.`,
        );
      }
      const kept = await wholeLines(file, Math.min(stats.size, bytes));
      await file.truncate(kept);
      return new BadLineFile(file, kept);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The length of the report so far. */
  get bytes(): number {
    return this.#bytes;
  }

  async write(lines: readonly BadLine[]): Promise<void> {
    if (lines.length === 0) return;
    const text = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await this.#file.appendFile(text);
    await this.#file.sync();
    this.#bytes += text.length;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}
