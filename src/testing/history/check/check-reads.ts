import type { RecordedRange } from "../history.js";
import type { Anomalies } from "./anomaly.js";
import type { CheckedTransaction, Observation, Version } from "./checked-history.js";

/**
 * A read of a cell that returned a value other than the one in the snapshot, overlaid with the
 * transaction's own writes.
 */
export interface WrongRead {
  readonly reader: CheckedTransaction;
  readonly observation: Observation;
  /** The newest version at or below the reader's start, or `undefined` if there is none. */
  readonly expected: Version | undefined;
  /** Whether the transaction itself had written the cell. */
  readonly own: boolean;
}

export interface ReadCounts {
  /** Count of cells that reads have named or ranges have covered. */
  observations: number;
  ranges: number;
}

/**
 * Compares every read of every transaction with the committed versions at its start, overlaid with
 * its own writes.
 */
export function checkReads(
  transactions: readonly CheckedTransaction[],
  anomalies: Anomalies,
  counts: ReadCounts,
): readonly WrongRead[] {
  const wrong: WrongRead[] = [];
  for (const reader of transactions) {
    reader.observe((observation) => {
      counts.observations++;
      const found = checkObservation(reader, observation);
      if (found !== undefined) wrong.push(found);
    });
    for (const operation of reader.recorded.operations) {
      if (operation.type !== "range") continue;
      counts.ranges++;
      checkOrder(reader, operation, anomalies);
    }
  }
  return wrong;
}

function checkObservation(reader: CheckedTransaction, observation: Observation): WrongRead | undefined {
  const { cell, value, invoked, completed } = observation;
  const own = reader.writes.get(cell);
  let expectsOwn = false;
  if (own !== undefined) {
    // A read may or may not see a write of the same transaction that happened during the read.
    for (let at = own.length - 1; at >= 0 && !expectsOwn; at--) {
      const write = own[at]!;
      if (write.at < completed && write.value === value) return undefined;
      expectsOwn = write.at < invoked;
    }
  }
  const expected = cell.versions[cell.indexAt(reader.start)];
  if (expectsOwn) return { reader, observation, expected, own: true };
  if (expected?.value !== value) {
    expected?.missedBy.add(reader);
    return { reader, observation, expected, own: false };
  }
  if (expected !== undefined) expected.seen++;
  return undefined;
}

/**
 * Checks that a range read returned its cells in order, each once, and no cell outside the range.
 */
function checkOrder(reader: CheckedTransaction, range: RecordedRange, anomalies: Anomalies): void {
  const { rows, columns, reverse, cells } = range;
  for (const [at, { row, column }] of cells.entries()) {
    const before = cells[at - 1];
    const rowsInOrder = before === undefined || (reverse ? before.row > row : before.row < row);
    const inOrder = rowsInOrder || (before.row === row && before.column < column);
    const inside =
      row >= rows.start &&
      (rows.end === undefined || row < rows.end) &&
      column >= columns.start &&
      (columns.end === undefined || column < columns.end);
    if (inOrder && inside) continue;
    anomalies.add("scan-order", [reader], () => {
      const shown = `${range.table} row ${JSON.stringify(row)}, column ${JSON.stringify(column)}`;
      const why = inside ? `after row ${JSON.stringify(before?.row)}` : "outside of the range";
      return `${reader} was shown ${shown} ${why}${reverse ? ", scanning backwards" : ""}.`;
    });
    return;
  }
}
