import { InvalidArgumentError } from "../errors/index.js";
import type { CellBlock } from "./cell-block.js";
import { checkMutation } from "./check.js";
import type { MutationAnswer, RowMutation } from "./mutation.js";

/** Cells for a part of a table that has none, under guards on another row. */
export interface FillBatch {
  readonly guarded: Pick<RowMutation, "table" | "row" | "guards">;
  /** At least one cell. The caller must not change the block before the answer. */
  readonly cells: CellBlock;
}

/**
 * The answer to a {@link FillBatch}. `applied`, `rejected` and `unknown` mean the same as for a
 * mutation. `occupied`: the table has a cell between the first and the last cell of the block, or
 * at one of them, and the store applied nothing.
 */
export type FillAnswer = MutationAnswer | "occupied";

/** Throws if a store could not apply the batch. `most`: the most guards that it takes. */
export function checkFill({ guarded, cells }: FillBatch, most: number): void {
  checkMutation({ ...guarded, mutations: [] }, most, false);
  if (cells.count === 0) throw new InvalidArgumentError("A block of cells must have at least one cell.");
}
