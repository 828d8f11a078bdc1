import sortedBtree from "sorted-btree";
import { byteString } from "../bytes.js";
import { copyCell, type MemoryCell } from "./cell.js";

// sorted-btree is a CommonJS package with a default export. Node's import gives the module, a
// bundler's import gives the class.
const Tree = ((sortedBtree as { default?: unknown }).default ?? sortedBtree) as typeof sortedBtree.default;

function escaped(bytes: Uint8Array): string {
  const text = byteString(bytes);
  return text.includes("\0") ? text.replaceAll("\0", "\0\xff") : text;
}

/**
 * A cell's position as a string that sorts by row bytes, then by column bytes. Each byte is one
 * character, each NUL is followed by 0xFF, and NUL 0x01 separates row and column. NUL 0x01 sorts
 * before all bytes that can follow. So if one row begins with another, the shorter one sorts first.
 */
export function cellKey(row: Uint8Array, column: Uint8Array | undefined): string {
  return column === undefined ? `${escaped(row)}\0\x01` : `${escaped(row)}\0\x01${escaped(column)}`;
}

/** The position after the last column of `row`. */
export function rowEnd(row: Uint8Array): string {
  return `${escaped(row)}\0\x02`;
}

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a === b ? 0 : 1;
}

/** The cells of one table, sorted by position. */
export class MemoryTable {
  readonly #cells = new Tree<string, MemoryCell>(undefined, compareKeys);

  /** Another table with the same cells. Later changes of one do not affect the other. */
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

  /** Cells below `key` in descending order. If `key` is undefined, begins at the last cell. */
  *below(key: string | undefined): Generator<MemoryCell, void> {
    if (this.#cells.size === 0) return;
    for (const [, cell] of this.#cells.entriesReversed(key, undefined, true)) yield cell;
  }
}
