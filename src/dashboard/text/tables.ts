import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import { type AnyTable, definition } from "../../schema/index.js";
import { Shared } from "../sources/shared.js";

/** The tables that somebody may name. */
export interface KnownTables {
  readonly names: readonly string[];
  table(name: string): AnyTable | undefined;
}

/** The tables of the program, which knows the codecs, before those that the database has recorded. */
export async function knownTables(db: Database, declared: readonly AnyTable[]): Promise<KnownTables> {
  const tables = new Map<string, AnyTable>(await db.tables());
  for (const table of declared) tables.set(table[definition].name, table);
  return { names: [...tables.keys()].sort(), table: (name) => tables.get(name) };
}

/** The tables as they were a moment ago. */
export class Tables {
  readonly #shared: Shared<KnownTables>;

  constructor(db: Database, declared: readonly AnyTable[], environment: Environment) {
    this.#shared = new Shared(environment, 1_000, () => knownTables(db, declared));
  }

  current(): Promise<KnownTables> {
    return this.#shared.get();
  }
}
