import type { Anomalies } from "./anomaly.js";
import type { Version } from "./cell-index.js";
import type { CheckedTransaction, Observation } from "./checked-transaction.js";
import type { RecordedRange } from "./history.js";

/** A cell that was shown otherwise than its transaction's snapshot and own writes have it. */
export interface WrongRead {
  readonly reader: CheckedTransaction;
  readonly observation: Observation;
  /** The newest version at or below the reader's start; `undefined` where there is none. */
  readonly expected: Version | undefined;
  /** The transaction had written the cell itself. */
  readonly own: boolean;
}

export interface ReadCounts {
  /** Cells that reads have named or ranges have covered. */
  observations: number;
  ranges: number;
}

/** Holds every read, of every transaction, against the committed versions at its start, its own writes laid over. */
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
    // A write while the read was under way may have been seen or not.
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

/** A range shows its cells in order, none of them twice, and none from outside. */
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
