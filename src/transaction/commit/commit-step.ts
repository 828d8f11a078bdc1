import { type CellAddress, showCell } from "../cell/address.js";
import type { TransactionContext } from "../context.js";
import type { StepName } from "../steps.js";
import type { CommitRequest } from "./request.js";

/** Runs one step of a commit at one cell, through the hooks that tests and traces use. */
export function commitStep<T>(
  { hooks }: TransactionContext,
  { start, label }: CommitRequest,
  name: StepName,
  cell: CellAddress,
  run: () => Promise<T>,
  commitTimestamp?: number,
): Promise<T> {
  const info = { startTimestamp: start, commitTimestamp, cell: showCell(cell), address: cell, label };
  return hooks.step(name, info, run);
}
