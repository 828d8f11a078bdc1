import type { MovedSource, TransactionRunner } from "../../../database/index.js";
import { SchemaError } from "../../../errors/index.js";
import { type AnyTable, definition, type TableDefinition } from "../../../schema/index.js";

/** A transaction of this library. */
export type Tx = Parameters<Parameters<TransactionRunner["transact"]>[0]>[0];

/** The SQL table that an attached table follows. */
export interface AttachedSource extends MovedSource {
  /** The SQL table, quoted. */
  readonly sql: string;
  /** The same table without a source: the mover writes it. */
  readonly target: AnyTable;
  /** The names of the declared columns. */
  readonly columnNames: readonly string[];
  /** How many times as long as a chunk took the copy rests after it. */
  readonly copyRest: number;
}

/** The source of an attached table. Undefined for any other. */
export function attachedSource({ source }: TableDefinition): AttachedSource | undefined {
  return source !== undefined && "sql" in source ? (source as AttachedSource) : undefined;
}

/** The source of an attached table. Throws a SchemaError for any other. */
export function needSource(table: AnyTable): AttachedSource {
  const source = attachedSource(table[definition]);
  if (source !== undefined) return source;
  throw new SchemaError(`Table ${table[definition].name} was not declared with \`attach\`.`);
}
