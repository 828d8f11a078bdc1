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
import { quoteName } from "./definition.js";
import { moveChanges } from "./move.js";
import type { AttachedSource } from "./source.js";

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
}

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
  const parts = partsOf(source);
  checkOptionNames(`attach ${source}`, options, { key: true, columns: true, name: true });
  const { columns, key, name = parts[1]! } = options;
  const target = table(name, columns, { key });
  const defined = target[definition];
  for (const { kind } of defined.columns.values()) {
    if (kind !== "column") {
      throw new SchemaError(
        `${source}: an SQL table has columns only, so \`columns\` cannot have a ${kind}.`,
      );
    }
  }
  const sql = parts.map(quoteName).join(".");
  const from: AttachedSource = { description: `the SQL table ${sql}`, move: moveChanges, sql, target };
  return bindTable({ ...defined, source: from }) as unknown as Table<C, K>;
}

/** Schema and table of a name as SQL writes it: `shop.orders`, or `"my shop"."orders"`. */
function partsOf(source: unknown): readonly string[] {
  const part = /(?:"((?:[^"\0]|"")+)"|([a-z_][a-z0-9_]*))/y;
  const parts: string[] = [];
  if (typeof source === "string") {
    for (let at = 0; ; at = part.lastIndex + 1) {
      part.lastIndex = at;
      const found = part.exec(source);
      if (found === null) break;
      parts.push(found[1]?.replaceAll('""', '"') ?? found[2]!);
      if (part.lastIndex === source.length && parts.length === 2) return parts;
      if (source[part.lastIndex] !== ".") break;
    }
  }
  throw new SchemaError(
    `\`attach\` takes a schema and a table, such as "public.orders", not ${describeValue(source)}. ` +
      "Put a name into double quotes if it has anything but lower-case letters, digits and _.",
  );
}
