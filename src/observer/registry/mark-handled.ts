import type { CellAddress } from "../../transaction/index.js";
import { acknowledgmentPrefix, encodeAcknowledgment } from "../hint/acknowledgment.js";
import { writeInPieces } from "./in-pieces.js";
import type { Registry } from "./registry.js";

/** A cell whose present value an observer has handled, and the version of the observer. */
export interface HandledCellOf {
  readonly observer: string;
  readonly version: number;
  readonly cell: CellAddress;
}

/** Maximum number of acknowledgments that one transaction writes. */
const acknowledgmentsAtOnce = 1_000;

/**
 * Writes an acknowledgment for each cell. The observers must be registered: records from before the
 * registration do not count. An import uses it for what was handled when the export ran, so that an
 * observer gets the imported value as `previous` of the next change. Nobody may write the cells meanwhile.
 * Safe to repeat.
 */
export async function markHandled(
  registry: Registry,
  handled: readonly HandledCellOf[],
  signal: AbortSignal | undefined,
): Promise<void> {
  await writeInPieces(registry, handled, {
    label: "mark handled",
    atOnce: acknowledgmentsAtOnce,
    write: (tx, { observer, version, cell }) => {
      const column = Buffer.concat([acknowledgmentPrefix(observer), cell.column]);
      const value = encodeAcknowledgment({ start: tx.startTimestamp, version, chain: 0 });
      tx.write({ ...cell, column, value });
    },
    signal,
  });
}
