import { type AnyTable, type ColumnName, definition, type TableDescription } from "../../schema/index.js";
import { UsageError } from "../usage-error.js";

/** The tables that an import would write, and what the database and the module know of them. */
export interface ImportPlan {
  /** The tables of the export that the user wants. */
  readonly wanted: readonly TableDescription[];
  /** All tables of the export. */
  readonly exported: readonly TableDescription[];
  /** The tables that the database has recorded. */
  readonly recorded: ReadonlyMap<string, AnyTable>;
  /** Tables of the program's module, which check each value. */
  readonly declared: readonly AnyTable[];
}

/**
 * Refuses to import unchecked values into a column that is recorded with a schema. If the exported
 * column has a schema too, its values need no check: the program checked them when it wrote them.
 *
 * @throws UsageError for the first such column.
 */
export function checkSchemas({ wanted, recorded, declared }: ImportPlan): void {
  const known = new Map(declared.map((table) => [table[definition].name, table[definition]]));
  for (const { name: table, columns } of wanted) {
    for (const { name, schema } of columns) {
      const column = recorded.get(table)?.[definition].columns.get(name);
      if (column?.codec?.hasSchema !== true || schema === true) continue;
      if (known.get(table)?.columns.get(name)?.codec?.hasSchema === true) continue;
      throw refused(
        `Column ${table}.${name} was not imported: it has a schema, but the exported column has none, so its values are unchecked. To check ` +
          "each value, give the module that declares the column with --app FILE. To import them unchecked, give --force.",
      );
    }
  }
}

/**
 * Refuses an import after which a column and its unique constraint or exact index could disagree.
 * This can happen if the import has only one of the two, or if one of them already holds data.
 *
 * @param isEmpty whether a table of the database is empty.
 * @throws UsageError for the first such column.
 */
export async function checkKept(
  plan: ImportPlan,
  isEmpty: (table: string) => Promise<boolean>,
): Promise<void> {
  const isWanted = (name: string) => plan.wanted.some((table) => table.name === name);
  for (const [kept, { table, column, qualifier }] of keptTables(plan)) {
    const what = `Column ${table}.${column}${qualifier === undefined ? "" : `:${qualifier}`} and table ${kept}, a unique constraint or an exact index,`;
    const ofColumn = plan.wanted.find((each) => each.name === table);
    const takesColumn = ofColumn?.columns.some(({ name }) => name === column) === true;
    if (takesColumn !== isWanted(kept)) {
      const [taken, other] = takesColumn ? [table, kept] : [kept, table];
      throw refused(
        `${what} were not imported: they must agree, and this import has table ${taken} without table ${other}. Import both, ` +
          "or give --force to import it anyway.",
      );
    }
    if (!takesColumn || ((await isEmpty(table)) && (await isEmpty(kept)))) continue;
    throw refused(
      `${what} were not merged: the existing cells of one might not agree with the imported cells of the other. Import into empty ` +
        "tables, or give --force to import them anyway.",
    );
  }
}

function keptTables({ exported, recorded }: ImportPlan): ReadonlyMap<string, ColumnName> {
  const found = new Map<string, ColumnName>();
  for (const { name, writtenWith } of exported) if (writtenWith !== undefined) found.set(name, writtenWith);
  for (const [name, table] of recorded) {
    const { writtenWith } = table[definition];
    if (writtenWith !== undefined) found.set(name, writtenWith);
  }
  return found;
}

function refused(message: string): UsageError {
  return new UsageError(message, "SCHEMA");
}
