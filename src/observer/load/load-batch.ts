import { CellBlock, type Mutation, type RowMutation, rowsOfBlock } from "../../store/index.js";
import type { LoadedCell } from "./row-encoder.js";

/** Bytes counted for each cell in addition to its column and value. */
const overheadBytes = 32;

/**
 * Rows of one table that a load writes together. If the store can fill ranges, their cells are
 * packed into a block. If not, they are mutations.
 */
export class LoadBatch {
  readonly table: string;
  /** The packed cells. Undefined if the store cannot fill ranges. */
  readonly block: CellBlock | undefined;
  rows = 0;
  cells = 0;
  bytes = 0;
  readonly #start: number;
  readonly #at: number;
  #mutations: RowMutation[] = [];
  #last: Uint8Array | undefined;

  constructor(table: string, start: number, at: number, isPacked: boolean) {
    this.table = table;
    this.block = isPacked ? new CellBlock(table, at) : undefined;
    this.#start = start;
    this.#at = at;
  }

  /** The last row. */
  get last(): Uint8Array | undefined {
    return this.#last;
  }

  add(row: Uint8Array, cells: readonly LoadedCell[]): void {
    this.rows++;
    this.cells += cells.length;
    this.bytes += row.length;
    this.#last = row;
    for (const { column, head, value } of cells)
      this.bytes += overheadBytes + column.length + head.length + value.length;
    if (this.block !== undefined) {
      for (const { column, head, value } of cells) this.block.add(row, column, head, value);
    } else {
      const mutations = cells.flatMap((cell) => this.#putsOf(cell));
      this.#mutations.push({ table: this.table, row, guards: [], mutations });
    }
  }

  /** The same cells as mutations, one for each row. */
  mutations(): readonly RowMutation[] {
    return this.block === undefined ? this.#mutations : rowsOfBlock(this.block);
  }

  /** Removes all rows. */
  clear(): void {
    this.rows = 0;
    this.cells = 0;
    this.bytes = 0;
    this.#last = undefined;
    this.#mutations = [];
    this.block?.clear();
  }

  #putsOf({ column, head, value, isInline }: LoadedCell): readonly Mutation[] {
    const write = isInline ? Buffer.concat([head, value]) : head;
    const put: Mutation = { type: "put", column, part: "write", timestamp: this.#at, value: write };
    if (isInline) return [put];
    return [put, { type: "put", column, part: "data", timestamp: this.#start, value }];
  }
}
