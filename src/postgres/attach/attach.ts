import { checkOptionNames, SchemaError } from "../../errors/index.js";
import {
  bindTable,
  type Codec,
  definition,
  describeValue,
  type KeyCodec,
  type Table,
  table,
} from "../../schema/index.js";
import { markChanges } from "./mark.js";
import { moveChanges } from "./move.js";
import { qualifiedName } from "./table/qualified-name.js";
import type { AttachedSource } from "./table/source.js";

/** The columns of an attached table by name: those of the SQL table that are needed. */
export type AttachedColumns = Readonly<Record<string, Codec<unknown>>>;

/** What {@link attach} takes besides the SQL table's name. */
export interface AttachOptions<C extends AttachedColumns, K> {
  /** The parts of the primary key, in its order: `tuple(int())`, or none for one text column. */
  readonly key?: KeyCodec<K> | undefined;
  /** The columns to follow. The others are ignored. A column that is NULL has no cell. */
  readonly columns: C;
  /** The table's name in this library. Default: the SQL table's. */
  readonly name?: string | undefined;
  /**
   * How gently the rows that exist are copied: after each chunk, the copy rests for this many times as
   * long as the chunk took, so that the programs that write to the server keep their speed. It rests
   * only while changes of attached tables arrive, and not during `db.drain()`. 0: never. At most
   * 1,000. Default: 5.
   */
  readonly copyRest?: number | undefined;
}

const defaultCopyRest = 5;
const maxCopyRest = 1_000;

/**
 * Declares an existing SQL table as a read-only table: transactions read it, and observers run on
 * its changes, whoever makes them. The database must be on PostgreSQL, in the same database of the
 * server. {@link attachTables} installs what it needs, once.
 *
 * @throws SchemaError for an invalid name, key or column.
 *
 * @example
 * const orders = attach("public.orders", {
 *   key: tuple(int()),
 *   columns: { customer: text(), total: float() },
 * });
 */
export function attach<C extends AttachedColumns, K = string>(
  source: string,
  options: AttachOptions<C, K>,
): Table<C, K> {
  const { sql, table: tableName } = qualifiedName(source);
  checkOptionNames(`attach ${source}`, options, { key: true, columns: true, name: true, copyRest: true });
  const { columns, key, name = tableName, copyRest = defaultCopyRest } = options;
  if (!(copyRest >= 0 && copyRest <= maxCopyRest)) {
    throw new SchemaError(
      `attach ${source}: \`copyRest\` must be a number from 0 to ${maxCopyRest}, not ${describeValue(copyRest)}.`,
    );
  }
  const target = table(name, columns, { key });
  const defined = target[definition];
  for (const { kind, name, property } of defined.columns.values()) {
    if (name !== property) {
      throw new SchemaError(
        `${source}: the columns of an attached table have the names of the SQL table, so \`${property}\` cannot use storedAs().`,
      );
    }
    if (kind !== "column") {
      throw new SchemaError(
        `${source}: an SQL table has columns only, so \`columns\` cannot have a ${kind}.`,
      );
    }
  }
  const columnNames = [...defined.columns.keys()];
  const description = `the SQL table ${sql}`;
  const from: AttachedSource = {
    description,
    move: moveChanges,
    mark: markChanges,
    sql,
    target,
    columnNames,
    copyRest,
  };
  return bindTable({ ...defined, source: from }) as unknown as Table<C, K>;
}
