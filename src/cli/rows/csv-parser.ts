import type { FileRecord, RecordParser } from "./record.js";
import { byteOrderMark, RecordBytes } from "./record-bytes.js";

/** The characters of a CSV file: each one ASCII character. */
export interface CsvForm {
  readonly delimiter: string;
  readonly quote: string;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

type State = "field" | "plain" | "quoted" | "quote" | "return" | "broken";

/**
 * Divides CSV into records, as RFC 4180 has it, from parts of any length. It is strict: a quote may
 * only surround a whole field. If a record breaks a rule, it has a `problem`, and the next record
 * begins on the next line.
 *
 * States, from the beginning of a field: `field` → `plain`, or `quoted` ⇄ `quote` (a quote that ends
 * the field, or is the first of two) → `return` (before a line feed). `broken` lasts to the line's end.
 */
export class CsvParser implements RecordParser {
  readonly #delimiter: number;
  readonly #quote: number;
  readonly #bytes: RecordBytes;
  #state: State = "field";
  #problem: string | undefined;
  /** The line that the parser has come to, and the line of the last opened quote. */
  #line: number;
  #quotedOn = 0;
  /** How much of a byte order mark the file can still begin with. */
  #markAt: number;

  constructor({ delimiter, quote }: CsvForm, line = 1) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#quote = quote.charCodeAt(0);
    this.#line = line;
    this.#markAt = line === 1 ? 0 : byteOrderMark.length;
    this.#bytes = new RecordBytes(line);
  }

  get line(): number {
    return this.#bytes.line;
  }

  *push(chunk: Buffer): Generator<FileRecord> {
    let begin = 0;
    for (let at = 0; at < chunk.length; ) {
      const end = this.#scan(chunk, at);
      if (end === undefined) break;
      this.#bytes.add(chunk.subarray(begin, end));
      begin = end;
      at = end;
      const record = this.#take(1);
      if (record !== undefined) yield record;
    }
    this.#bytes.add(chunk.subarray(begin));
  }

  *end(): Generator<FileRecord> {
    if (this.#state === "quoted")
      this.#problem = `the quote that opens on line ${this.#quotedOn} is not closed`;
    if (this.#state === "return") this.#problem = lonelyReturn;
    if (this.#bytes.isEmpty) return;
    const record = this.#take(0);
    if (record !== undefined) yield record;
  }

  #take(endBytes: number): FileRecord | undefined {
    this.#line += endBytes;
    const record = this.#bytes.take(endBytes, this.#line, this.#problem);
    this.#state = "field";
    this.#problem = undefined;
    return record;
  }

  /** Reads on from `from`. Returns the index behind the record's line feed, if it is in the chunk. */
  #scan(chunk: Buffer, from: number): number | undefined {
    let at = from;
    while (at < chunk.length) {
      if (this.#state === "quoted") {
        const quote = chunk.indexOf(this.#quote, at);
        const to = quote < 0 ? chunk.length : quote;
        this.#countLines(chunk, at, to);
        at = to + 1;
        if (quote >= 0) this.#state = "quote";
        continue;
      }
      if (this.#state === "broken") {
        const end = chunk.indexOf(lineFeed, at);
        return end < 0 ? undefined : end + 1;
      }
      const byte = chunk[at]!;
      if (byte === byteOrderMark[this.#markAt]) {
        this.#markAt++;
        at++;
        continue;
      }
      this.#markAt = byteOrderMark.length;
      if (byte === lineFeed) return at + 1;
      if (this.#state === "return") this.#break(lonelyReturn);
      else if (byte === carriageReturn) this.#state = "return";
      else if (byte === this.#delimiter) this.#state = "field";
      else if (byte === this.#quote) this.#meetQuote();
      else if (this.#state === "quote") this.#break("text follows the quote that closes a field");
      else {
        this.#state = "plain";
        at = this.#endOfPlain(chunk, at);
        continue;
      }
      at++;
    }
    return undefined;
  }

  #meetQuote(): void {
    if (this.#state === "plain") {
      this.#break("a quote is in the middle of a field; put the whole field in quotes, and double the quote");
      return;
    }
    if (this.#state === "field") this.#quotedOn = this.#line;
    this.#state = "quoted";
  }

  #break(problem: string): void {
    this.#problem = problem;
    this.#state = "broken";
  }

  #endOfPlain(chunk: Buffer, from: number): number {
    let at = from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === this.#delimiter || byte === lineFeed || byte === carriageReturn || byte === this.#quote)
        break;
    }
    return at;
  }

  #countLines(chunk: Buffer, from: number, to: number): void {
    for (let at = chunk.indexOf(lineFeed, from); at >= 0 && at < to; at = chunk.indexOf(lineFeed, at + 1)) {
      this.#line++;
    }
  }
}

const lonelyReturn = "a carriage return is not followed by a line feed; put the field in quotes";

/**
 * The fields of a record without a problem. A field that is empty and not in quotes is undefined.
 */
export function csvFields(content: Buffer, { delimiter, quote }: CsvForm): readonly (string | undefined)[] {
  const [quoteByte, delimiterByte] = [quote.charCodeAt(0), delimiter.charCodeAt(0)];
  const fields: (string | undefined)[] = [];
  for (let at = 0; ; at++) {
    if (content[at] === quoteByte) {
      let close = content.indexOf(quoteByte, at + 1);
      let isDoubled = false;
      while (content[close + 1] === quoteByte) {
        isDoubled = true;
        close = content.indexOf(quoteByte, close + 2);
      }
      const text = content.toString("utf8", at + 1, close);
      fields.push(isDoubled ? text.replaceAll(quote + quote, quote) : text);
      at = close + 1;
    } else {
      const next = content.indexOf(delimiterByte, at);
      const end = next < 0 ? content.length : next;
      fields.push(end === at ? undefined : content.toString("utf8", at, end));
      at = end;
    }
    if (at >= content.length) return fields;
  }
}
