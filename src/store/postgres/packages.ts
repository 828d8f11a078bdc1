import { requirePackage } from "../../errors/index.js";
import type { PostgresPool } from "./wire/client.js";

/** The part of `pg` that this store uses. Its types are not needed to compile a program. */
interface PgModule {
  readonly Pool: new (config: Readonly<Record<string, unknown>>) => PostgresPool;
}

/**
 * Loads `pg`, an optional peer dependency. Only this folder loads it, and only for a store that
 * makes its own connections.
 */
export function pgPackage(): PgModule {
  return requirePackage<PgModule>("pg", { user: "A store on PostgreSQL", packages: ["pg"] });
}
