import type { FileRecord, RecordParser } from "./record.js";
import { RecordBytes } from "./record-bytes.js";

const lineFeed = 0x0a;

/** Divides a file into lines, from parts of any length. Blank lines are no records. */
export class LineParser implements RecordParser {
  readonly #bytes: RecordBytes;
  #line: number;

  constructor(line = 1) {
    this.#line = line;
    this.#bytes = new RecordBytes(line);
  }

  get line(): number {
    return this.#bytes.line;
  }

  *push(chunk: Buffer): Generator<FileRecord> {
    let begin = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, begin)) {
      this.#bytes.add(chunk.subarray(begin, end + 1));
      begin = end + 1;
      const record = this.#bytes.take(1, ++this.#line, undefined);
      if (record !== undefined) yield record;
    }
    this.#bytes.add(chunk.subarray(begin));
  }

  *end(): Generator<FileRecord> {
    if (this.#bytes.isEmpty) return;
    const record = this.#bytes.take(0, this.#line, undefined);
    if (record !== undefined) yield record;
  }
}
