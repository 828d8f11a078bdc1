import { InvalidKeyError, ObserverError } from "../../errors/index.js";
import {
  columnPath,
  decodeRow,
  definition,
  describeValue,
  encodeRow,
  parsePath,
  type TableDefinition,
} from "../../schema/index.js";
import type { CellAddress } from "../../transaction/index.js";
import type { RegisteredObserver } from "./registered.js";
import type { RegistryView } from "./view.js";

/** A cell that an observer watches, by names and typed keys. */
export interface ObservedCell {
  readonly observer: string;
  readonly table: string;
  readonly row: unknown;
  /** The name of the column, family or signal. */
  readonly column: string;
  /** The qualifier of a family's cell. Undefined for a column and a signal. */
  readonly qualifier: string | undefined;
}

/**
 * The registered observer with this name.
 *
 * @throws ObserverError if no registered observer has this name.
 */
export function registeredObserver(view: RegistryView, name: string): RegisteredObserver {
  const registered = view.observers.get(name);
  if (registered !== undefined) return registered;
  throw new ObserverError(
    `No observer named ${describeValue(name)} is registered in this database. Registered: ` +
      `${[...view.observers.keys()].join(", ") || "none"}.`,
  );
}

function tableOf(view: RegistryView, registered: RegisteredObserver): TableDefinition {
  const table = view.table(registered.record.table);
  if (table !== undefined) return table[definition];
  throw new ObserverError(
    `Observer "${registered.name}" watches table ${registered.record.table}, which is not recorded. Run \`percolator check\`.`,
  );
}

/** Whether these bytes are a key of the observed table. An earlier observer of the name may have watched another table. */
export function isRowOf(view: RegistryView, registered: RegisteredObserver, row: Uint8Array): boolean {
  const table = tableOf(view, registered);
  try {
    decodeRow(table, row);
    return true;
  } catch (error) {
    if (error instanceof InvalidKeyError) return false;
    throw error;
  }
}

/** Turns a cell's bytes into names and keys. */
export function nameCell(
  view: RegistryView,
  registered: RegisteredObserver,
  row: Uint8Array,
  path: Uint8Array,
): ObservedCell {
  const { name, qualifier } = parsePath(path);
  return {
    observer: registered.name,
    table: registered.record.table,
    row: decodeRow(tableOf(view, registered), row),
    column: name,
    qualifier,
  };
}

/** Turns a cell that {@link nameCell} returned back into bytes. */
export function addressCell(
  view: RegistryView,
  registered: RegisteredObserver,
  cell: ObservedCell,
): CellAddress {
  const table = tableOf(view, registered);
  return {
    table: table.name,
    row: encodeRow(table, cell.row),
    column: columnPath(registered.record.column, cell.qualifier),
  };
}
