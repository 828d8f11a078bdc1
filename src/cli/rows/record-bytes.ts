import { isUtf8 } from "node:buffer";
import { InvalidValueError } from "../../errors/index.js";
import { type FileRecord, maxRecordBytes } from "./record.js";

export const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const carriageReturn = 0x0d;

/** Gathers the bytes of a record from the parts of a file. Copies them only if the record spans parts. */
export class RecordBytes {
  readonly #parts: Buffer[] = [];
  #length = 0;
  /** Where the content begins: behind blank lines. */
  #contentAt = 0;
  #isFirst: boolean;
  /** The line that the content begins on. */
  line: number;

  constructor(line: number) {
    this.line = line;
    this.#isFirst = line === 1;
  }

  get isEmpty(): boolean {
    return this.#length === this.#contentAt;
  }

  add(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length > maxRecordBytes) {
      throw new InvalidValueError(
        `The record that begins on line ${this.line} has more than ${maxRecordBytes} bytes. Check whether a quote is not closed there.`,
      );
    }
  }

  /** Counts what was added so far as blank lines before the record. `line` is the next line. */
  skip(line: number): void {
    this.#contentAt = this.#length;
    this.line = line;
  }

  /**
   * The gathered record, and the next one begins on `nextLine`. Undefined if the line is blank: it then counts as
   * the beginning of the next record's bytes.
   */
  take(endBytes: number, nextLine: number, problem: string | undefined): FileRecord | undefined {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    let from = this.#contentAt;
    if (this.#isFirst) {
      if (isUtf16(bytes)) {
        throw new InvalidValueError("The file is UTF-16. Convert it to UTF-8: iconv -f UTF-16 -t UTF-8.");
      }
      if (bytes.subarray(0, 3).equals(byteOrderMark)) from = Math.max(from, 3);
    }
    let to = bytes.length - endBytes;
    if (endBytes > 0 && to > from && bytes[to - 1] === carriageReturn) to--;
    if (to <= from) {
      this.skip(nextLine);
      return undefined;
    }
    const content = bytes.subarray(from, to);
    const { line } = this;
    this.#parts.length = 0;
    this.#length = 0;
    this.#contentAt = 0;
    this.#isFirst = false;
    this.line = nextLine;
    const reason = problem ?? (isUtf8(content) ? undefined : "it is not UTF-8");
    return { line, bytes, content, ...(reason === undefined ? {} : { problem: reason }) };
  }
}

function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
