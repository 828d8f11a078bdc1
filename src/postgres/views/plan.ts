import { SchemaError } from "../../errors/index.js";
import { type AnyTable, type ColumnDefinition, columnPath, definition } from "../../schema/index.js";
import { attachedSource } from "../attach/table/source.js";
import { ownProperty } from "../own-property.js";
import { keyColumns, partTags, type ViewColumn, valueColumn } from "./columns.js";
import type { ViewNames } from "./options.js";
import { cellsQuery, rowsQuery, type ViewSource } from "./view-sql.js";

/** A view as it must be. */
export interface PlannedView {
  readonly name: string;
  readonly table: string;
  /** Undefined for the view of a table's columns. */
  readonly family: string | undefined;
  readonly source: ViewSource;
  /** In the order of the view. */
  readonly columns: readonly Pick<ViewColumn, "name" | "type">[];
  readonly query: string;
}

/** PostgreSQL cuts longer names silently, so that two of them could become one. In bytes. */
const maxNameBytes = 63;

/** Throws if views of the table are impossible, without asking the server. */
export function checkTable(table: AnyTable): void {
  const defined = table[definition];
  const source = attachedSource(defined);
  if (source === undefined) return;
  throw new SchemaError(
    `Table ${defined.name} is attached: its rows are those of ${source.sql}. Read that SQL table, it needs no view.`,
  );
}

/** The views of a table: one of its columns, and one of each family. Signals have no values. */
export function planViews(
  table: AnyTable,
  number: number,
  schema: string,
  names: ViewNames,
): readonly PlannedView[] {
  const defined = table[definition];
  const tags = partTags(defined.key.tag);
  const chosen = ownProperty(names.keys, defined.name);
  const keyNames = chosen ?? (tags.length === 1 ? ["key"] : tags.map((_, i) => `key_${i + 1}`));
  if (keyNames.length !== tags.length) {
    throw new SchemaError(
      `Rows of table ${defined.name} have a key of ${tags.length} parts, but \`keys\` names ${keyNames.length}.`,
    );
  }
  const key = keyColumns(defined.key.tag, keyNames);
  const source: ViewSource = { schema, table: number, key };
  const views: PlannedView[] = [];
  const all = [...defined.columns.values()];
  const simple = all.filter(({ kind }) => kind === "column").map(storedColumn);
  if (simple.length > 0) {
    const name = ownProperty(names.views, defined.name) ?? defined.name;
    const query = rowsQuery(source, simple);
    views.push({ name, table: defined.name, family: undefined, source, columns: [...key, ...simple], query });
  }
  for (const family of all.filter(({ kind }) => kind === "family")) {
    const name =
      ownProperty(names.views, `${defined.name}.${family.name}`) ?? `${defined.name}_${family.name}`;
    const value = valueColumn("value", family.codec!.tag);
    const qualifier: ViewColumn = { name: "qualifier", type: "text", decode: (_, bytes) => bytes };
    const query = cellsQuery(source, { prefix: columnPath(family.name, ""), qualifier: "qualifier", value });
    const columns = [...key, qualifier, value];
    views.push({ name, table: defined.name, family: family.name, source, columns, query });
  }
  for (const view of views) checkNames(view);
  return views;
}

/** Throws if `views` or `keys` name something that has no view, such as a misspelt table. */
export function checkNamed(
  tables: readonly AnyTable[],
  views: readonly PlannedView[],
  names: ViewNames,
): void {
  const known = {
    views: views.map(({ table, family }) => (family === undefined ? table : `${table}.${family}`)),
    keys: tables.map((table) => table[definition].name),
  };
  for (const option of ["views", "keys"] as const) {
    const unknown = Object.keys(names[option] ?? {}).find((name) => !known[option].includes(name));
    if (unknown === undefined) continue;
    throw new SchemaError(
      `\`${option}\` has the name ${JSON.stringify(unknown)}, of which no view is made here. It takes ${known[option].join(", ") || "none"}.`,
    );
  }
}

/** Throws if two views have one name. */
export function checkDistinct(views: readonly PlannedView[]): void {
  const known = new Map<string, PlannedView>();
  for (const view of views) {
    const other = known.get(view.name);
    if (other !== undefined) {
      throw new SchemaError(
        `The views of ${wordsOf(other)} and of ${wordsOf(view)} would both be named ${JSON.stringify(view.name)}. Name one of them with \`views\`.`,
      );
    }
    known.set(view.name, view);
  }
}

function storedColumn({ name, codec }: ColumnDefinition) {
  return { ...valueColumn(name, codec!.tag), path: columnPath(name) };
}

function checkNames({ name, columns, ...view }: PlannedView): void {
  const long = [name, ...columns.map((column) => column.name)].find(isUnfit);
  if (long !== undefined) {
    throw new SchemaError(
      `The view of ${wordsOf(view)} cannot use the name ${JSON.stringify(long)}: a name in PostgreSQL has 1 to ${maxNameBytes} bytes, without NUL. ` +
        "Give another one with `views` or `keys`.",
    );
  }
  const seen = new Set<string>();
  for (const column of columns) {
    if (seen.has(column.name)) {
      throw new SchemaError(
        `The view of ${wordsOf(view)} would have two columns named ${JSON.stringify(column.name)}. Name the key's columns with \`keys\`.`,
      );
    }
    seen.add(column.name);
  }
}

function isUnfit(name: string): boolean {
  return name === "" || name.includes("\0") || Buffer.byteLength(name) > maxNameBytes;
}

/** What a view shows, in words. */
export function wordsOf({
  table,
  family,
}: {
  readonly table: string;
  readonly family?: string | undefined;
}): string {
  return family === undefined ? `table ${table}` : `family ${table}.${family}`;
}
