import type { AnyTable, Database, Observer } from "../../index.js";
import type { RebuildOptions, RebuildReport } from "./rebuild.js";

// Symbol.for instead of instanceof, since two copies of the package may be loaded in one program.
/** The property by which commands recognize a unique constraint or an index. @internal */
export const lookupBrand: unique symbol = Symbol.for("percolatordb.lookup") as never;

/** A unique constraint or an index without its types, as commands use it. */
export interface AnyLookup {
  readonly name: string;
  /** The table that it keeps. */
  readonly table: AnyTable;
  /** What keeps the table, if writers do not. */
  readonly observer?: Observer | undefined;
  rebuild(db: Database, options?: RebuildOptions): Promise<RebuildReport>;
}

/** Whether the value is a unique constraint or an index, of this or another copy of the package. @internal */
export function isLookup(value: unknown): value is AnyLookup {
  return typeof value === "object" && value !== null && lookupBrand in value;
}
