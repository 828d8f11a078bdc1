import sortedBtree from "sorted-btree";
import { byteString } from "../bytes.js";
import { copyCell, type MemoryCell } from "./cell.js";

// The package is CommonJS with a default export: Node hands over the module, a bundler the class.
const Tree = ((sortedBtree as { default?: unknown }).default ?? sortedBtree) as typeof sortedBtree.default;

function escaped(bytes: Uint8Array): string {
  const text = byteString(bytes);
  return text.includes("\0") ? text.replaceAll("\0", "\0\xff") : text;
}

/**
 * A place in a table as a string that sorts by the rows' bytes and then by the columns': each byte
 * a character, NUL followed by 0xFF, and NUL 0x01 between row and column. A row that another begins
 * with comes first, since NUL 0x01 sorts before every byte that may follow.
 */
export function cellKey(row: Uint8Array, column: Uint8Array | undefined): string {
  return column === undefined ? `${escaped(row)}\0\x01` : `${escaped(row)}\0\x01${escaped(column)}`;
}

/** The place after the last column of `row`. */
export function rowEnd(row: Uint8Array): string {
  return `${escaped(row)}\0\x02`;
}

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a === b ? 0 : 1;
}

/** The cells of one table, in order. */
export class MemoryTable {
  readonly #cells = new Tree<string, MemoryCell>(undefined, compareKeys);

  /** A table of its own with the same cells. */
  copy(): MemoryTable {
    const copy = new MemoryTable();
    for (const cell of this.#cells.values()) copy.set(copyCell(cell));
    return copy;
  }

  get size(): number {
    return this.#cells.size;
  }

  get(key: string): MemoryCell | undefined {
    return this.#cells.get(key);
  }

  set(cell: MemoryCell): void {
    this.#cells.set(cell.key, cell);
  }

  delete(key: string): void {
    this.#cells.delete(key);
  }

  /** Cells from `key` on, ascending. */
  *from(key: string): Generator<MemoryCell, void> {
    for (const [, cell] of this.#cells.entries(key)) yield cell;
  }

  /** Cells below `key` (undefined: from the last), descending. */
  *below(key: string | undefined): Generator<MemoryCell, void> {
    if (this.#cells.size === 0) return;
    for (const [, cell] of this.#cells.entriesReversed(key, undefined, true)) yield cell;
  }
}
