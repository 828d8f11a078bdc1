import { isUtf8 } from "node:buffer";
import { type FileRecord, maxRecordBytes, RefusedFile } from "./record.js";

export const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const carriageReturn = 0x0d;

/** Gathers the bytes of a record from the parts of a file. Copies them only if the record spans parts. */
export class RecordBytes {
  #parts: Buffer[] = [];
  #length = 0;
  /** The blank lines before the record. There may be millions, so they are joined only once. */
  #blank: Buffer[] = [];
  #isFirst: boolean;
  /** The line that the record begins on. */
  line: number;

  constructor(line: number) {
    this.line = line;
    this.#isFirst = line === 1;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  add(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length > maxRecordBytes) {
      throw new RefusedFile(
        `the record that begins on line ${this.line} has more than ${maxRecordBytes} bytes. In CSV, check whether a quote is not closed ` +
          "there. Else divide its cells over several records with the same key",
      );
    }
  }

  /**
   * The gathered record, and the next one begins on `nextLine`. Undefined if the line is blank: it then counts as
   * the beginning of the next record's bytes.
   */
  take(endBytes: number, nextLine: number, problem: string | undefined): FileRecord | undefined {
    const own = joined(this.#parts);
    this.#parts = [];
    this.#length = 0;
    let from = 0;
    if (this.#isFirst) {
      if (isUtf16(own)) {
        throw new RefusedFile("it is UTF-16. Convert it to UTF-8: iconv -f UTF-16 -t UTF-8");
      }
      if (own.subarray(0, 3).equals(byteOrderMark)) from = 3;
      this.#isFirst = false;
    }
    let to = own.length - endBytes;
    if (endBytes > 0 && to > from && own[to - 1] === carriageReturn) to--;
    const { line } = this;
    this.line = nextLine;
    if (to <= from) {
      this.#addBlank(own);
      return undefined;
    }
    const content = own.subarray(from, to);
    const bytes = joined([...this.#blank, own]);
    this.#blank = [];
    const reason = problem ?? (isUtf8(content) ? undefined : "it is not UTF-8");
    return { line, bytes, content, ...(reason === undefined ? {} : { problem: reason }) };
  }

  /** Adds a blank line. If it follows the last one in memory, both become one part. */
  #addBlank(line: Buffer): void {
    const last = this.#blank.at(-1);
    if (last?.buffer === line.buffer && last.byteOffset + last.length === line.byteOffset) {
      this.#blank.pop();
      this.#blank.push(Buffer.from(line.buffer, last.byteOffset, last.length + line.length));
    } else this.#blank.push(line);
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
