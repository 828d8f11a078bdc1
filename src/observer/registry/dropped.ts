import { ConflictError, SchemaError } from "../../errors/index.js";
import { parsePath } from "../../schema/index.js";
import type { DroppedNames, LoadBarrierRequest } from "../../transaction/index.js";
import { type StoredDropped, wholeTable } from "./cells.js";

/** The dropped columns by table. The name of a dropped table's own record is {@link wholeTable}. */
export type DroppedRecords = ReadonlyMap<string, ReadonlyMap<string, StoredDropped>>;

/**
 * The names that were released, by table and column, with the epoch in which this process learned it. A transaction
 * that began before may have written by a definition that is not recorded any more.
 */
export type ReleasedNames = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * Keeps transactions from writing under dropped names. A program that still declares a dropped column
 * would otherwise leave cells that nobody finds. Deletes are allowed.
 */
export class DroppedBarrier implements DroppedNames {
  readonly #records: DroppedRecords;
  readonly #released: ReleasedNames;

  constructor(records: DroppedRecords, released: ReleasedNames = new Map()) {
    this.#records = records;
    this.#released = released;
  }

  refusal({
    start,
    epoch,
    writes,
  }: Pick<LoadBarrierRequest, "start" | "epoch" | "writes">): Error | undefined {
    for (const { table, column, value } of writes) {
      const records = this.#records.get(table);
      const released = this.#released.get(table);
      if (value === undefined || (records === undefined && released === undefined)) continue;
      const { name } = parsePath(column);
      const refused = records?.get(wholeTable) ?? records?.get(name);
      if (refused !== undefined)
        return droppedError(table, records!.has(wholeTable) ? undefined : name, refused);
      if (epoch < Math.max(released?.get(wholeTable) ?? 0, released?.get(name) ?? 0)) {
        return new ConflictError(
          `Column ${table}.${name} was dropped and released since the transaction started at ${start}. Nothing was written. ` +
            "Run it again from the start: it then compares its declaration with the record.",
          { startTimestamp: start, table },
        );
      }
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
