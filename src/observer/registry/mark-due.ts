import type { CellAddress } from "../../transaction/index.js";
import { hintAddress, hintPrefix } from "../hint/hint.js";
import { writeInPieces } from "./in-pieces.js";
import type { Registry } from "./registry.js";

/** A cell, and an observer that must become due on it. */
export interface DueCell {
  readonly observer: string;
  readonly cell: CellAddress;
}

/** Maximum number of hints that one transaction writes. */
const hintsAtOnce = 500;

/**
 * Writes a hint for each cell. An import uses it for changes that were due when the export ran. The
 * observer may be registered later, since hints refer to it by name. Safe to repeat.
 */
export async function markDue(
  registry: Registry,
  due: readonly DueCell[],
  signal: AbortSignal | undefined,
): Promise<void> {
  await writeInPieces(registry, due, {
    label: "mark due",
    atOnce: hintsAtOnce,
    write: (tx, { observer, cell }) =>
      tx.addHint({ observer, address: hintAddress(hintPrefix(observer), cell), cell }),
    signal,
  });
}
