import { type BlockLine, blockCells, blockCharacters, blockSum, type EndLine } from "./format.js";

/**
 * Gathers an export's lines into blocks. Each block's checksum covers the checksum of the block
 * before it.
 */
export class BlockBuilder {
  #block: number;
  #sha256: string;
  #total: number;
  #lines: Buffer[] = [];
  #bytes = 0;
  #cells = 0;

  /**
   * `after`: the last block of the export to continue. Its `cells` counts all cells up to its end.
   */
  constructor(after?: { readonly block: number; readonly sha256: string; readonly cells: number }) {
    this.#block = after === undefined ? 0 : after.block + 1;
    this.#sha256 = after?.sha256 ?? "";
    this.#total = after?.cells ?? 0;
  }

  /** Count of cells in the blocks taken so far. */
  get cells(): number {
    return this.#total;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  get isFull(): boolean {
    return this.#bytes >= blockCharacters || this.#cells >= blockCells;
  }

  /** Adds a line of JSON that has `cells` cells. */
  add(text: string, cells: number): void {
    const line = Buffer.from(`${text}\n`);
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#cells += cells;
  }

  /** Returns the block's bytes with the line of its checksum, and begins the next block. */
  take(): Buffer {
    this.#sha256 = blockSum(this.#sha256, this.#lines);
    const end: BlockLine = {
      block: this.#block++,
      lines: this.#lines.length,
      cells: this.#cells,
      sha256: this.#sha256,
    };
    const taken = Buffer.concat([...this.#lines, Buffer.from(`${JSON.stringify(end)}\n`)]);
    this.#total += this.#cells;
    this.#lines = [];
    this.#bytes = 0;
    this.#cells = 0;
    return taken;
  }

  /** Returns the export's last line. */
  end(): Buffer {
    const end: EndLine = { end: true, blocks: this.#block, cells: this.#total, sha256: this.#sha256 };
    return Buffer.from(`${JSON.stringify(end)}\n`);
  }
}
