import { ExportDamagedError } from "../../errors/index.js";
import {
  type BlockLine,
  blockSum,
  type EndLine,
  type ExportHeader,
  formatName,
  maxBlockBytes,
  parseHeader,
  parseLine,
} from "./format.js";

/** A block with a correct checksum. */
export interface ReadBlock {
  readonly block: number;
  /** The lines without line ends. Block 0 holds only the header. */
  readonly lines: readonly string[];
  /** Number of the first line, counted from 1. */
  readonly firstLine: number;
  readonly sha256: string;
  /** Count of cells up to the end of this block. */
  readonly cells: number;
  /** Bytes of text up to the end of this block. */
  readonly textBytes: number;
}

const lineEnd = 0x0a;
const headerStart = `{"format":${JSON.stringify(formatName)}`;

/** Reads an export block by block. It never returns a block with a wrong checksum. */
export class BlockReader {
  header: ExportHeader | undefined;
  /** Whether the reader has met the last line, and the line agrees with everything before it. */
  isWhole = false;
  readonly #input: AsyncIterable<Uint8Array>;
  readonly #name: string;
  #block = 0;
  #line = 1;
  #sha256 = "";
  #cells = 0;
  #textBytes = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;

  /** `input`: the decompressed text. `name`: the name of the file, for messages. */
  constructor(input: AsyncIterable<Uint8Array>, name: string) {
    this.#input = input;
    this.#name = name;
  }

  /**
   * Yields the blocks in order. The first block holds only the header.
   *
   * @throws ExportDamagedError at the first place that is damaged, or at the end of a file that is
   * cut.
   */
  async *blocks(): AsyncGenerator<ReadBlock> {
    for await (const line of this.#lines()) {
      if (this.isWhole) throw this.#damaged("more text follows the last line");
      this.#held.push(line);
      this.#heldBytes += line.length;
      if (this.#heldBytes > maxBlockBytes) throw this.#damaged("the block does not end");
      const ends = endOf(line);
      if (ends === undefined) continue;
      if ("end" in ends) this.#finish(ends);
      else yield this.#take(ends);
    }
    if (!this.isWhole) throw this.#damaged("the file ends here, so it was cut");
  }

  async *#lines(): AsyncGenerator<Buffer> {
    let rest: Buffer[] = [];
    let restBytes = 0;
    for await (const chunk of this.#read()) {
      let from = 0;
      for (let at = chunk.indexOf(lineEnd); at >= 0; at = chunk.indexOf(lineEnd, from)) {
        rest.push(chunk.subarray(from, at + 1));
        yield rest.length === 1 ? rest[0]! : Buffer.concat(rest);
        rest = [];
        restBytes = 0;
        from = at + 1;
      }
      if (from < chunk.length) rest.push(chunk.subarray(from));
      restBytes += chunk.length - from;
      if (restBytes > maxBlockBytes) throw this.#damaged("the line does not end");
    }
    if (rest.length > 0) throw this.#damaged("the file ends within a line, so it was cut");
  }

  async *#read(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#input) {
        yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code?.startsWith("Z_") !== true) throw error;
      throw this.#damaged(`it cannot be decompressed (${(error as Error).message})`);
    }
  }

  #take({ block, lines, cells, sha256 }: BlockLine): ReadBlock {
    const held = this.#held.slice(0, -1);
    if (block !== this.#block) throw this.#damaged(`it has the number ${block}`);
    if (lines !== held.length || blockSum(this.#sha256, held) !== sha256) {
      throw this.#damaged("its checksum is wrong");
    }
    const texts = held.map((line) => line.toString("utf8", 0, line.length - 1));
    if (block === 0) this.header = parseHeader(texts[0] ?? "");
    const firstLine = this.#line;
    this.#cells += cells;
    this.#advance();
    this.#block++;
    this.#sha256 = sha256;
    return { block, lines: texts, firstLine, sha256, cells: this.#cells, textBytes: this.#textBytes };
  }

  #finish({ blocks, cells, sha256 }: EndLine): void {
    if (this.#held.length > 1 || blocks !== this.#block || cells !== this.#cells || sha256 !== this.#sha256) {
      throw this.#damaged("the last line does not agree with the blocks before it");
    }
    this.#advance();
    this.isWhole = true;
  }

  #advance(): void {
    this.#line += this.#held.length;
    this.#textBytes += this.#heldBytes;
    this.#held = [];
    this.#heldBytes = 0;
  }

  #damaged(what: string): ExportDamagedError {
    if (this.header === undefined) {
      // A file whose first line is not a header is no export at all.
      const first = this.#held[0]?.toString("utf8");
      if (first === undefined || !first.startsWith(headerStart)) {
        return new ExportDamagedError(
          `${this.#name} is not an export of percolatordb. Give what \`percolator export\` wrote.`,
        );
      }
      // A later version of the format may have no blocks, so the version is checked first.
      if (parseLine(first) !== undefined) parseHeader(first);
    }
    return new ExportDamagedError(
      `${this.#name} is damaged in block ${this.#block}, which begins at line ${this.#line}: ${what}. ` +
        "Export again, or give an undamaged copy.",
    );
  }
}

/**
 * Returns the checksum line or the last line that `line` holds, or undefined for a row. A row is an
 * array that begins with its table.
 */
function endOf(line: Buffer): BlockLine | EndLine | undefined {
  const text = line.subarray(0, 9).toString("latin1");
  if (!text.startsWith('{"block":') && !text.startsWith('{"end":')) return undefined;
  return parseLine(line.toString("utf8")) as BlockLine | EndLine | undefined;
}
