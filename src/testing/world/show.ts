import { parseHintRow } from "../../observer/index.js";
import {
  type AtomicBatch,
  type BatchAnswer,
  byteString,
  type CellView,
  type Guard,
  type Mutation,
  type Part,
  type RangePage,
  type RangeRead,
  type RawPage,
  type RawRead,
  type RowMutation,
  type RowPage,
  type RowRead,
} from "../../store/index.js";
import {
  decodeLock,
  decodeStatus,
  decodeWrite,
  hintTable,
  showCell,
  showColumn,
  showRow,
} from "../../transaction/index.js";

/* Formats requests and answers between clients and a store, in one line each, for traces. */

const maxValue = 40;

/** Formats a value: as text if it is text, else in hexadecimal. */
export function showValue(value: Uint8Array | undefined): string {
  if (value === undefined) return "(elsewhere)";
  const text = showRow(value);
  return text.length <= maxValue ? text : `${text.slice(0, maxValue)}…`;
}

/** Formats a row. For a hint, formats the observer and the observed row, without the bucket. */
export function showPlace(table: string, row: Uint8Array): string {
  if (table !== hintTable) return `${table}/${showRow(row)}`;
  const hint = parseHintRow(row);
  return hint === undefined ? `${table}/${showRow(row)}` : `hints/${hint.observer}/${showRow(hint.row)}`;
}

export function showRead(read: RowRead | RangeRead | RawRead): string {
  const at = "at" in read && Number.isFinite(read.at) ? ` at ${read.at}` : "";
  if ("row" in read) return `read ${showPlace(read.table, read.row)}${at}`;
  const start = read.start === undefined ? "" : showPlace(read.table, read.start.row);
  const end = read.end === undefined ? "" : showPlace(read.table, read.end.row);
  return `scan ${read.table} [${start}, ${end})${at}`;
}

/**
 * Formats a column. If the protocol keeps the cell for another column, formats the cell's own name
 * and the name of the other column.
 */
function shownColumn(path: Uint8Array): string {
  const [name, of] = showColumn(path).split("\0", 2);
  return of === undefined ? name! : `${name}(${of})`;
}

function showView({ column, lock, write }: CellView): string {
  const shown: string[] = [];
  if (lock !== undefined) shown.push(showVersion("lock", lock.timestamp, lock.value));
  if (write !== undefined) shown.push(showVersion("write", write.timestamp, write.value));
  return `${shownColumn(column)}: ${shown.join(", ")}`;
}

export function showPage(page: RowPage | RangePage | RawPage): string {
  if (!("rows" in page)) return page.cells.length === 0 ? "nothing" : page.cells.map(showView).join("; ");
  const rows = page.rows.map(({ row, cells }) => {
    const shown = cells.map((cell) =>
      "versions" in cell
        ? `${shownColumn(cell.column)}: ${cell.versions.map((each) => showVersion(each.part, each.timestamp, each.value)).join(", ")}`
        : showView(cell),
    );
    return `${showRow(row)} { ${shown.join("; ")} }`;
  });
  return rows.length === 0 ? "nothing" : rows.join(" ");
}

/** Formats one version of a part, decoded. */
export function showVersion(part: Part, timestamp: number, value: Uint8Array): string {
  return `${part}@${timestamp}${showRecord(part, value)}`;
}

function showRecord(part: Part, value: Uint8Array): string {
  try {
    switch (part) {
      case "lock": {
        const { kind, minCommit, primary, value: inline } = decodeLock(value);
        return ` (${kind}${kind === "put" ? ` ${showValue(inline)}` : ""}, primary ${showCell(primary)}, commits at ${minCommit} or later)`;
      }
      case "write": {
        const { kind, start, value: inline } = decodeWrite(value);
        return ` (${kind}${kind === "put" ? ` ${showValue(inline)}` : ""}, start ${start})`;
      }
      case "txn": {
        const status = decodeStatus(value);
        return status.outcome === "committed" ? ` (COMMIT ${status.commit})` : " (ROLLBACK)";
      }
      case "data":
        return ` (${showValue(value)})`;
    }
  } catch {
    return ` (0x${Buffer.from(value).toString("hex")})`;
  }
}

function showSpan(part: Part, from: number, to: number): string {
  if (to === from + 1) return `${part}@${from}`;
  if (from === 0) return to === Number.POSITIVE_INFINITY ? part : `${part} below ${to}`;
  return to === Number.POSITIVE_INFINITY ? `${part} from ${from} on` : `${part} in [${from}, ${to})`;
}

function showGuard(guard: Guard): string {
  const column = shownColumn(guard.column);
  if (guard.type === "absent") return `no ${column}:${showSpan(guard.part, guard.from, guard.to)}`;
  const value = guard.equals === undefined ? "" : " unchanged";
  const below = guard.below === undefined ? "" : " not pushed beyond its commit";
  return `${column}:${guard.part}@${showStamp(guard.at)}${value}${below}`;
}

function showMutations(mutations: readonly Mutation[]): string {
  return mutations
    .map((mutation) => {
      const column = shownColumn(mutation.column);
      if (mutation.type === "delete")
        return `delete ${column}:${showSpan(mutation.part, mutation.from, mutation.to)}`;
      return `put ${column}:${mutation.part}@${showStamp(mutation.timestamp)}${showRecord(mutation.part, mutation.value)}`;
    })
    .join(", ");
}

/** Formats a timestamp. A negative one is the commit timestamp that the store will assign. */
function showStamp(timestamp: number): string {
  return timestamp < 0 ? "C" : String(timestamp);
}

export function showMutation({ table, row, guards, mutations }: RowMutation): string {
  const condition = guards.length === 0 ? "" : ` if ${guards.map(showGuard).join(", ")}`;
  const doing = mutations.length === 0 ? "check" : showMutations(mutations);
  return `${showPlace(table, row)}: ${doing}${condition}`;
}

export function showBatch(batch: AtomicBatch): string {
  const rows = batch.rows.filter((row) => row.mutations.length > 0).map(showMutation);
  return `batch { ${rows.join(" | ")} }`;
}

export function showBatchAnswer(answer: BatchAnswer): string {
  if (answer.answer === "applied") return `applied at ${answer.timestamp}`;
  if (answer.answer === "unknown") return "unknown";
  return "row" in answer
    ? `rejected by row ${answer.row}, guard ${answer.guard}`
    : `rejected by range ${answer.range}`;
}

/** Returns everything in a page, to compare it with others. */
export function digestPage(page: RowPage | RangePage | RawPage): string {
  const rows = "rows" in page ? page.rows : [page];
  let digest = "";
  for (const { row, cells } of rows) {
    digest += `|${byteString(row)}`;
    for (const cell of cells) {
      digest += `;${byteString(cell.column)}`;
      if ("versions" in cell) {
        for (const { part, timestamp, value } of cell.versions)
          digest += `,${part}${timestamp}=${byteString(value)}`;
        continue;
      }
      const { lock, write, data, latest } = cell;
      if (lock !== undefined) digest += `,l${lock.timestamp}=${byteString(lock.value)}`;
      if (write !== undefined) digest += `,w${write.timestamp}=${byteString(write.value)}`;
      for (const { timestamp, value } of data) digest += `,d${timestamp}=${byteString(value)}`;
      if (!latest) digest += "+";
    }
  }
  return digest;
}
