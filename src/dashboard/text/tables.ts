import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import { type AnyTable, definition } from "../../schema/index.js";
import { Shared } from "../sources/shared.js";

/** Tables by name. */
export interface KnownTables {
  readonly names: readonly string[];
  table(name: string): AnyTable | undefined;
}

/**
 * The tables of a database. Tables declared by the program take precedence over recorded ones,
 * because only the program knows its codecs.
 */
export async function knownTables(db: Database, declared: readonly AnyTable[]): Promise<KnownTables> {
  const tables = new Map<string, AnyTable>(await db.tables());
  for (const table of declared) tables.set(table[definition].name, table);
  return { names: [...tables.keys()].sort(), table: (name) => tables.get(name) };
}

/** The tables of a database, read at most once a second. */
export function sharedTables(db: Database, declared: readonly AnyTable[], environment: Environment) {
  return new Shared(environment, 1_000, () => knownTables(db, declared));
}
