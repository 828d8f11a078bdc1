import { InvalidArgumentError } from "../../errors/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { describeValue, prefixEnd } from "../../schema/index.js";
import { allColumns, type Position, pages } from "../../store/index.js";
import { after, type CellAddress, CoreTransaction, SnapshotReader } from "../../transaction/index.js";
import { encodeAcknowledgment } from "../hint/acknowledgment.js";
import type { FailureText } from "../hint/failure.js";
import {
  decodeParkedEntry,
  type ParkedEntry,
  parkedEntryCell,
  parkedTable,
  parseParkedRow,
  rowPrefix,
} from "../hint/parked-entry.js";
import { addressCell, nameCell, type ObservedCell, registeredObserver } from "./cell-of.js";
import { type CellRecords, readRecords } from "./due.js";
import type { RegisteredObserver } from "./registered.js";
import type { Registry } from "./registry.js";
import type { RegistryView } from "./view.js";

/**
 * A change that was parked after its last attempt: a dead letter. It is due again when the cell
 * changes, or after `db.retry`.
 */
export interface ParkedChange extends ObservedCell {
  readonly attempts: number;
  readonly parkedAt: Date;
  /** The last failure. */
  readonly error: FailureText;
}

/** The options of `db.parked`. All are optional. */
export interface ParkedOptions {
  /** The name of the only observer to list. Default: all. */
  readonly observer?: string | undefined;
  /**
   * Lists only what comes after this change in the order of the list, also if the change is not parked any
   * more. For the next page: the last change of the page before. Default: everything.
   */
  readonly after?: ObservedCell | undefined;
  /** Ends the list with an error when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** Lists the parked changes by observer and row, as of the time of the call. */
export async function* listParked(
  registry: Registry,
  options: ParkedOptions = {},
): AsyncGenerator<ParkedChange, void, undefined> {
  if (options.after !== undefined) checkParked("`after` of `db.parked` takes", options.after);
  const at = await currentTimestamp(registry.context);
  for await (const { change } of parkedAt(registry, at, options)) yield change;
}

/** A parked change, and the start timestamp up to which the changes of its cell are parked. */
interface ParkedUpTo {
  readonly change: ParkedChange;
  readonly upTo: number;
}

/** Lists the parked changes as of a timestamp. */
export async function* parkedAt(
  registry: Registry,
  at: number,
  options: ParkedOptions,
): AsyncGenerator<ParkedUpTo, void, undefined> {
  const { context } = registry;
  const unregister = context.active.register(at);
  try {
    const reader = new SnapshotReader(context, at, { signal: options.signal });
    const view = await registry.fresh();
    const prefix = options.observer === undefined ? undefined : rowPrefix(options.observer);
    const last = prefix === undefined ? undefined : prefixEnd(prefix);
    const end = last === undefined ? undefined : { row: last };
    const read = (start?: Position) => reader.range({ table: parkedTable, start, end, columns: allColumns });
    const first = options.after === undefined ? undefined : behind(view, options.after);
    for await (const page of pages(read, later({ row: prefix ?? new Uint8Array(0) }, first))) {
      for (const { row: entryRow, cells } of page.rows) {
        const { observer, row } = parseParkedRow(entryRow);
        const registered = view.observers.get(observer);
        if (registered === undefined) continue;
        for (const { column, value } of cells) {
          if (value === undefined) continue;
          const address = { table: registered.record.table, row, column };
          if (!(await isStillParked(reader, registered, address))) continue;
          yield parkedUpTo(view, registered, address, decodeParkedEntry(value));
        }
      }
    }
  } finally {
    unregister();
  }
}

/** The position behind the entry of a change. */
function behind(view: RegistryView, change: ObservedCell): Position {
  const registered = view.observers.get(change.observer);
  // The table of an observer that was unregistered is not known. Its changes are not parked any more.
  if (registered === undefined) return { row: rowPrefix(change.observer) };
  const { row, column } = parkedEntryCell(registered.name, addressCell(view, registered, change));
  return { row, column: after(column) };
}

function later(a: Position, b: Position | undefined): Position {
  return b === undefined || Buffer.compare(a.row, b.row) > 0 ? a : b;
}

function parkedUpTo(
  view: RegistryView,
  registered: RegisteredObserver,
  { row, column }: CellAddress,
  { attempts, parkedAt: time, error, start }: ParkedEntry,
): ParkedUpTo {
  const cell = nameCell(view, registered, row, column);
  return { change: { ...cell, attempts, parkedAt: new Date(time), error }, upTo: start };
}

/** The parked change of one observer's cell, as a reader sees it. Undefined if none is parked. */
export async function parkedChangeOf(
  view: RegistryView,
  reader: SnapshotReader,
  registered: RegisteredObserver,
  cell: CellAddress,
): Promise<ParkedUpTo | undefined> {
  if (!(await isStillParked(reader, registered, cell))) return undefined;
  const { table, row, column } = parkedEntryCell(registered.name, cell);
  const { cells } = await reader.row(table, row, [{ exact: column }]);
  const entry = cells[0]?.value;
  return entry === undefined ? undefined : parkedUpTo(view, registered, cell, decodeParkedEntry(entry));
}

/**
 * Whether a change is still parked. It is not parked if a run succeeded while another process was
 * parking it.
 */
async function isStillParked(
  reader: SnapshotReader,
  registered: RegisteredObserver,
  cell: CellAddress,
): Promise<boolean> {
  return isParked(await readRecords({ reader }, registered, cell));
}

function isParked({ parked, acknowledgment }: CellRecords): boolean {
  return parked !== undefined && parked.start > (acknowledgment?.start ?? 0);
}

/** Makes a parked change due again. Resolves to false if it is not parked any more. */
export function retryParked(registry: Registry, parked: ObservedCell): Promise<boolean> {
  return changeParked(registry, parked, (tx, registered, cell, { acknowledgment }) => {
    if (acknowledgment !== undefined && acknowledgment.chain > 0) {
      // Writes the acknowledgment again, which resets the count of runs that the observer's own
      // writes caused. The observer may then cause as many such runs again.
      writeAcknowledgment(tx, registered, cell, acknowledgment.start, acknowledgment.version);
    }
    tx.addHint(registered.hint(cell));
  });
}

/** Marks a parked change as handled. Resolves to false if it is not parked any more. */
export function discardParked(registry: Registry, parked: ObservedCell): Promise<boolean> {
  return changeParked(registry, parked, (tx, registered, cell, state) => {
    if (state.parked === undefined) return;
    tx.addHandled({ observer: registered.name, cell, upTo: state.parked.start, isParked: false });
    if (registered.isWeak) return;
    writeAcknowledgment(tx, registered, cell, state.parked.start, state.parked.version);
  });
}

function writeAcknowledgment(
  tx: CoreTransaction,
  registered: RegisteredObserver,
  cell: CellAddress,
  start: number,
  version: number,
): void {
  tx.write({
    table: cell.table,
    row: cell.row,
    column: registered.acknowledgmentColumn(cell.column),
    value: encodeAcknowledgment({ start, version, chain: 0 }),
  });
}

function checkParked(who: string, change: ObservedCell): void {
  if (typeof change?.observer === "string") return;
  throw new InvalidArgumentError(
    `${who} a parked change, as \`parked()\` lists them, not ${describeValue(change)}.`,
  );
}

function changeParked(
  registry: Registry,
  parked: ObservedCell,
  change: (
    tx: CoreTransaction,
    registered: RegisteredObserver,
    cell: CellAddress,
    state: CellRecords,
  ) => void,
): Promise<boolean> {
  checkParked("The call takes", parked);
  return registry.retrying(async () => {
    const tx = await CoreTransaction.begin(registry.context, { label: `parked ${parked.observer}` });
    try {
      const view = await registry.fresh();
      const registered = registeredObserver(view, parked.observer);
      const cell = addressCell(view, registered, parked);
      const state = await readRecords(tx, registered, cell);
      if (!isParked(state)) return false;
      tx.write({
        table: cell.table,
        row: cell.row,
        column: registered.parkedColumn(cell.column),
        value: undefined,
      });
      tx.write({ ...parkedEntryCell(registered.name, cell), value: undefined });
      change(tx, registered, cell, state);
      await tx.commit();
      return true;
    } finally {
      tx.rollback();
    }
  });
}
