/** Names that differ from the defaults. */
export interface ViewNames {
  /**
   * Names of views, by table or by `TABLE.FAMILY`. A name of which no view is made is an error.
   * Default: the table's name, and `TABLE_FAMILY`.
   */
  readonly views?: Readonly<Record<string, string>> | undefined;
  /**
   * Names of the key's columns, by table. A name of which no view is made is an error. Default: `key`,
   * or `key_1`, `key_2` and so on for a key of several parts.
   */
  readonly keys?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The options of `postgresViews`. */
export interface PostgresViewsOptions extends ViewNames {
  /** The schema of the views. It is created if it is missing. Default: the database's, and `_views`. */
  readonly schema?: string | undefined;
  /**
   * Whether to make an index for the keys of each table that has a view. Without one, a condition on
   * a key reads the whole table. Each commit to the table writes it. Default: true.
   */
  readonly indexes?: boolean | undefined;
  /** Whether to remove views of this database in the schema that `tables` does not name. Default: false. */
  readonly removeOthers?: boolean | undefined;
  /** Whether only to say what would be done. Default: false. */
  readonly dryRun?: boolean | undefined;
  /** Ends waiting when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called about once a second while an index is made. If it throws or rejects, the call ends with its
   * error.
   */
  readonly onProgress?: ((progress: PostgresViewsProgress) => void) | undefined;
}

/** How far `postgresViews` is with the indexes. */
export interface PostgresViewsProgress {
  /** Which one it makes, from 1. */
  readonly index: number;
  readonly of: number;
  /** The share of the table's blocks that are read, from 0 to 1. Undefined while none are read. */
  readonly share: number | undefined;
  /**
   * The server process for whose transaction it waits, with its program: an index is complete only
   * when the transactions have ended that began before it. Undefined if it waits for none.
   */
  readonly waitsFor: string | undefined;
}

/** A view, and what was done with it. */
export interface PostgresView {
  readonly name: string;
  /** The table that it shows. */
  readonly table: string;
  /** The family that it shows. Undefined for the table's columns. */
  readonly family?: string | undefined;
  readonly state: "created" | "changed" | "unchanged" | "removed";
}

/** What `postgresViews` and `dropPostgresViews` did. */
export interface PostgresViewsReport {
  /** The schema of the views. */
  readonly schema: string;
  readonly views: readonly PostgresView[];
  /** The statements that were run, or would be. They may be repeated. */
  readonly sql: string;
}
