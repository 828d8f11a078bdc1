import { SchemaError } from "../../errors/index.js";
import { parsePath } from "../../schema/index.js";
import type { DroppedNames, LoadBarrierRequest } from "../../transaction/index.js";
import { type StoredDropped, wholeTable } from "./cells.js";

/** The dropped columns by table. The name of a dropped table's own record is {@link wholeTable}. */
export type DroppedRecords = ReadonlyMap<string, ReadonlyMap<string, StoredDropped>>;

/**
 * Keeps transactions from writing under dropped names. A program that still declares a dropped column
 * would otherwise leave cells that nobody finds. Deletes are allowed.
 */
export class DroppedBarrier implements DroppedNames {
  readonly #records: DroppedRecords;

  constructor(records: DroppedRecords) {
    this.#records = records;
  }

  refusal({ writes }: Pick<LoadBarrierRequest, "writes">): Error | undefined {
    for (const { table, column, value } of writes) {
      if (value === undefined) continue;
      const records = this.#records.get(table);
      if (records === undefined) continue;
      const { name } = parsePath(column);
      const refused = records.get(wholeTable) ?? records.get(name);
      if (refused !== undefined)
        return droppedError(table, records.has(wholeTable) ? undefined : name, refused);
    }
    return undefined;
  }
}

/** The error for a program that still uses what was dropped. */
export function droppedError(
  table: string,
  column: string | undefined,
  { droppedAt }: StoredDropped,
): SchemaError {
  const what = column === undefined ? `Table ${table}` : `Column ${table}.${column}`;
  const name = column === undefined ? table : `${table}.${column}`;
  return new SchemaError(
    `${what} was dropped from the database at ${new Date(droppedAt).toISOString()}. Nothing was written. Remove it from the program. To use ` +
      `the name again, run \`percolator drop LOCATION ${name} --release\` first.`,
  );
}
