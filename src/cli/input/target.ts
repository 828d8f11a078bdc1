import type { KnownTables } from "../../dashboard/index.js";
import {
  type AnyColumn,
  type AnyTable,
  bindColumn,
  type Column,
  definition,
  type Family,
  isColumn,
  isFamily,
  type Signal,
  type TableDefinition,
} from "../../schema/index.js";
import { asUsage, UsageError } from "../usage-error.js";

/** What a user named: a table, a column, a family, or one cell of a family. */
export type Target =
  | { readonly kind: "table"; readonly table: AnyTable; readonly defined: TableDefinition }
  | { readonly kind: "column"; readonly column: Column<unknown, unknown>; readonly defined: TableDefinition }
  | { readonly kind: "family"; readonly family: Family<unknown, unknown>; readonly defined: TableDefinition }
  | { readonly kind: "signal"; readonly signal: Signal<unknown>; readonly defined: TableDefinition };

/**
 * The parts of a target's text: `documents`, `documents.contents`, or
 * `documents.anchors:QUALIFIER`.
 */
interface TargetParts {
  readonly table: string;
  readonly column: string | undefined;
  readonly qualifier: string | undefined;
}

function splitTarget(text: string): TargetParts {
  const dot = text.indexOf(".");
  if (dot < 0) return { table: text, column: undefined, qualifier: undefined };
  const rest = text.slice(dot + 1);
  const colon = rest.indexOf(":");
  return {
    table: text.slice(0, dot),
    column: colon < 0 ? rest : rest.slice(0, colon),
    qualifier: colon < 0 ? undefined : rest.slice(colon + 1),
  };
}

/**
 * Finds the table, column, family or cell that a text names. Throws a {@link UsageError} if there
 * is none. `advice` is for an unknown table: empty for a command without `--app`.
 */
export function findTarget(tables: KnownTables, text: string, advice?: string): Target {
  const { table: name, column, qualifier } = splitTarget(text);
  const table = findTable(tables, name, advice);
  const defined = table[definition];
  if (column === undefined) return { kind: "table", table, defined };
  const bound = bindColumn(defined, column);
  if (bound === undefined) {
    const known = [...defined.columns.keys()].join(", ");
    throw new UsageError(`Table ${name} has no column ${JSON.stringify(column)}; it has ${known}.`, "SCHEMA");
  }
  return qualifier === undefined ? targetOf(bound, defined) : cellOf(bound, qualifier, defined);
}

/** Finds a table by name. Throws a {@link UsageError} if there is none. */
export function findTable(
  tables: KnownTables,
  name: string,
  advice = " Give the module that declares it with --app MODULE.",
): AnyTable {
  const table = tables.table(name);
  if (table !== undefined) return table;
  const known = tables.names.length === 0 ? "it has recorded none yet" : `it has ${tables.names.join(", ")}`;
  throw new UsageError(`The database has no table ${JSON.stringify(name)}; ${known}.${advice}`, "SCHEMA");
}

function targetOf(bound: AnyColumn, defined: TableDefinition): Target {
  if (isColumn(bound)) return { kind: "column", column: bound, defined };
  if (isFamily(bound)) return { kind: "family", family: bound, defined };
  return { kind: "signal", signal: bound, defined };
}

function cellOf(bound: AnyColumn, qualifier: string, defined: TableDefinition): Target {
  if (isFamily(bound)) return { kind: "column", column: asUsage(() => bound.at(qualifier)), defined };
  throw new UsageError(
    `${defined.name}.${bound.name} is a ${bound.kind}, not a family: leave out ":${qualifier}".`,
    "SCHEMA",
  );
}

/** Finds a column, or one cell of a family. Throws a {@link UsageError} for anything else. */
export function findColumn(tables: KnownTables, text: string): Column<unknown, unknown> {
  const target = findTarget(tables, text);
  const { name } = target.defined;
  switch (target.kind) {
    case "column":
      return target.column;
    case "family":
      throw new UsageError(
        `${name}.${target.family.name} is a family: name one of its cells, as ${name}.${target.family.name}:QUALIFIER.`,
        "SCHEMA",
      );
    case "signal":
      throw noValues(target.signal);
    case "table":
      throw new UsageError(`Name a column of table ${name}, as ${name}.COLUMN.`, "SCHEMA");
  }
}

/** Returns the error for a signal in a place that needs a column with values. */
export function noValues(signal: Signal<unknown>): UsageError {
  return new UsageError(
    `${signal.table.name}.${signal.name} is a signal, and signals have no values. Name a column or a family.`,
    "SCHEMA",
  );
}
