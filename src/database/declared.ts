import type { Observer } from "../observer/index.js";
import type { AnyTable } from "../schema/index.js";
import type { OpenOptions } from "./options.js";

/** What a program declares, as `open` takes it, to be compared with what the database records. */
export type DeclaredSchema = Pick<
  OpenOptions,
  "tables" | "observers" | "feeds" | "derivations" | "schedules" | "lookups"
>;

/**
 * Returns the tables and observers that the options list, and those that their derivations,
 * schedules and lookups have. Each of them is there once.
 */
export function declared({
  tables = [],
  observers = [],
  derivations = [],
  schedules = [],
  lookups = [],
}: Omit<DeclaredSchema, "feeds">): {
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
} {
  const allTables = [
    ...tables,
    ...[...schedules, ...derivations].flatMap((each) => each.tables),
    ...lookups.map(({ table }) => table),
  ];
  const allObservers = [
    ...observers,
    ...derivations.flatMap((each) => each.observers),
    ...lookups.flatMap(({ observer }) => observer ?? []),
  ];
  return { tables: [...new Set(allTables)], observers: [...new Set(allObservers)] };
}
