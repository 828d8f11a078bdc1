import {
  followsSame,
  isOf,
  type Observer,
  type ObserverRecord,
  type Registry,
  type RegistryView,
  wholeTable,
} from "../observer/index.js";
import {
  type AnyTable,
  type Codec,
  compareTables,
  definition,
  describeTable,
  type Feed,
  type TableDefinition,
  type TableDescription,
} from "../schema/index.js";

import { type RebuildDue, rebuildsDue } from "./lookup-versions.js";
import { type UnfinishedPass, unfinishedPasses } from "./pass.js";

/** All that a program declares, to be compared with what the database records. */
export interface ProgramSchema {
  readonly tables?: readonly AnyTable[] | undefined;
  readonly observers?: readonly Observer[] | undefined;
  readonly feeds?: readonly Feed[] | undefined;
}

/** What deals with a difference between a program and the database. */
export type SchemaAction =
  /** `open` records it. */
  | "open"
  /** `db.migrate`, or `percolator migrate`. */
  | "migrate"
  /** `rebuild` of a unique constraint or index, or `percolator rebuild`. */
  | "rebuild"
  /** `db.backfill`, or `percolator backfill`. */
  | "backfill"
  /** `db.drop`, or `percolator drop`, when no program needs it. */
  | "drop"
  /** `db.unregister`, or `percolator unregister`, when no program needs it. */
  | "unregister"
  /** `db.removeFeed`, when no program needs it. */
  | "removeFeed"
  /** Nothing does: `open` throws, or reads fail. The program must change. */
  | "program";

/** One difference between a program and the database. */
export interface SchemaDifference {
  /** What differs: `orders`, `orders.total`, `observer cluster` or `feed changes`. */
  readonly name: string;
  /** What the difference is, and what to do, in a sentence. */
  readonly text: string;
  readonly action: SchemaAction;
}

/** A dropped column or table whose name is not released. */
export interface DroppedName {
  readonly table: string;
  /** Undefined for a table. */
  readonly column: string | undefined;
  readonly droppedAt: Date;
}

/** The result of `db.schema`. */
export interface SchemaReport {
  readonly tables: readonly TableDescription[];
  readonly observers: readonly ObserverRecord[];
  readonly feeds: readonly {
    readonly name: string;
    readonly columns: readonly string[];
    readonly retentionMs: number;
  }[];
  readonly dropped: readonly DroppedName[];
  /** Migrations and drops that were interrupted, or are running. */
  readonly unfinished: readonly UnfinishedPass[];
  /** Unique constraints and indexes that have entries of an older version. */
  readonly rebuildsDue: readonly RebuildDue[];
  /** Empty if the program declares what is recorded, or if no program was given. */
  readonly differences: readonly SchemaDifference[];
}

/** Lists what the database records, and how a program's declarations differ from it. */
export async function schemaReport(
  registry: Registry,
  declared: ProgramSchema | undefined,
): Promise<SchemaReport> {
  const view = await registry.fresh();
  const byName = <T extends { readonly name: string }>(all: Iterable<T>) =>
    [...all].sort((a, b) => (a.name < b.name ? -1 : 1));
  const feeds = [...view.feedRecords.values()].filter(({ record }) => !record.isLeased);
  const due = await rebuildsDue(registry, view);
  return {
    tables: byName(view.tables.values()),
    observers: byName([...view.observers.values()].map(({ record }) => record)),
    feeds: byName(
      feeds.map(({ record: { name, columns, retentionMs } }) => ({
        name,
        columns: columns.map(({ table, column }) => `${table}.${column}`),
        retentionMs,
      })),
    ),
    dropped: [...view.droppedRecords].flatMap(([table, records]) =>
      [...records].map(([column, { droppedAt }]) => ({
        table,
        column: column === wholeTable ? undefined : column,
        droppedAt: new Date(droppedAt),
      })),
    ),
    unfinished: await unfinishedPasses(registry),
    rebuildsDue: due,
    differences: declared === undefined ? [] : new Comparison(view, due).of(declared),
  };
}

class Comparison {
  readonly #view: RegistryView;
  readonly #rebuildsDue: readonly RebuildDue[];
  readonly #found: SchemaDifference[] = [];

  constructor(view: RegistryView, due: readonly RebuildDue[]) {
    this.#view = view;
    this.#rebuildsDue = due;
  }

  of({ tables = [], observers = [], feeds = [] }: ProgramSchema): readonly SchemaDifference[] {
    const used = [
      ...tables.map((table) => table[definition]),
      ...observers.map(({ target }) => target.table),
      ...feeds.flatMap(({ columns }) => columns.map((column) => column.table)),
    ];
    const distinct = [...new Set(used)];
    for (const table of distinct) this.#table(table);
    this.#undeclaredColumns(distinct);
    this.#observers(observers);
    this.#feeds(feeds);
    return this.#found;
  }

  #add(name: string, action: SchemaAction, text: string): void {
    // A program may declare a table in several places.
    if (this.#found.some((found) => found.name === name && found.text === text)) return;
    this.#found.push({ name, action, text });
  }

  #table(table: TableDefinition): void {
    const { name } = table;
    const declared = describeTable(table);
    const recorded = this.#view.tables.get(name);
    const dropped = this.#view.droppedRecords.get(name);
    if (dropped?.has(wholeTable)) {
      this.#add(name, "program", `The table was dropped. Remove it from the program, or release its name.`);
      return;
    }
    if (recorded === undefined) {
      this.#add(name, "open", "The table is new: open records it.");
      return;
    }
    const { additions, clashes } = compareTables(recorded, declared);
    for (const clash of clashes) {
      this.#add(
        name,
        "program",
        `open refuses the program: ${clash}. Declare a new column or table, and copy the values.`,
      );
    }
    for (const column of additions) {
      if (dropped?.has(column)) {
        this.#add(
          `${name}.${column}`,
          "program",
          "The column was dropped. Remove it from the program, or release its name.",
        );
      } else this.#add(`${name}.${column}`, "open", "The column is new: open records it.");
    }
    this.#lookup(name, table.version ?? 1, recorded.version ?? 1);
    for (const { name: column, schema, version = 1, ttlMs } of recorded.columns) {
      const now = table.columns.get(column);
      if (now?.codec === undefined) continue;
      this.#column(`${name}.${column}`, now.codec, schema === true, version);
      this.#ttl(`${name}.${column}`, now.ttlMs, ttlMs ?? null);
    }
  }

  /** A unique constraint or index, by the table that it keeps. */
  #lookup(name: string, declared: number, recorded: number): void {
    const due = this.#rebuildsDue.find(({ table }) => table === name);
    if (declared > recorded) {
      this.#add(
        name,
        "rebuild",
        `The program keeps it in version ${declared}, after version ${recorded}: open records that. Rebuild it when no program with an older version runs.`,
      );
    } else if (declared < recorded) {
      this.#add(
        name,
        "program",
        `Programs keep it in version ${recorded}, and this one in version ${declared}: what it writes must be rebuilt later.`,
      );
    } else if (due !== undefined) {
      this.#add(
        name,
        "rebuild",
        `It has entries of version ${due.built}, and programs keep it in version ${recorded}. Rebuild it when no program with an older version runs.`,
      );
    }
  }

  #ttl(name: string, declared: number | null | undefined, recorded: number | null): void {
    if (declared === recorded || (declared === undefined && recorded === null)) return;
    const before = recorded === null ? "Its cells do not expire" : `Its cells expire after ${recorded} ms`;
    if (declared === undefined) {
      this.#add(
        name,
        "program",
        `${before}, which the program does not declare: they still expire. To end that, declare ttlMs as Infinity.`,
      );
    } else {
      const after = declared === null ? "that they never expire" : `${declared} ms, also for existing cells`;
      this.#add(name, "open", `${before}: open records ${after}.`);
    }
  }

  #column(name: string, { hasSchema, versions }: Codec<unknown>, isChecked: boolean, recorded: number): void {
    const { newest, written } = versions ?? { newest: 1, written: 1 };
    if (newest < recorded) {
      this.#add(
        name,
        "program",
        `Programs write version ${recorded} of its values, and this one reads versions up to ${newest}: reads of newer values fail.`,
      );
    } else if (written > recorded) {
      this.#add(
        name,
        "migrate",
        `The program writes version ${written}, after version ${recorded}: open records it, reads upgrade older values, and migrate rewrites them.`,
      );
    } else if (written < recorded) {
      this.#add(
        name,
        "program",
        `The program still writes version ${written}, and others write version ${recorded}.`,
      );
    }
    if (hasSchema === true && !isChecked)
      this.#add(name, "open", "Its values have a schema now: open records that.");
  }

  /** Recorded columns and tables that the program does not declare. */
  #undeclaredColumns(declared: readonly TableDefinition[]): void {
    const names = new Map<string, Set<string>>();
    for (const { name, columns } of declared) {
      const known = names.get(name) ?? new Set<string>();
      for (const column of columns.keys()) known.add(column);
      names.set(name, known);
    }
    for (const { name, columns } of this.#view.tables.values()) {
      const known = names.get(name);
      if (known === undefined) {
        this.#add(name, "drop", "The program does not declare the table. If no program needs it, drop it.");
        continue;
      }
      for (const column of columns) {
        if (known.has(column.name)) continue;
        this.#add(
          `${name}.${column.name}`,
          "drop",
          `The program does not declare the column. If you renamed it, declare the new name with storedAs("${column.name}", ...). If no program needs it, drop it.`,
        );
      }
    }
  }

  #observers(observers: readonly Observer[]): void {
    for (const observer of observers) {
      const name = `observer ${observer.name}`;
      const record = this.#view.observers.get(observer.name)?.record;
      if (record === undefined) {
        this.#add(
          name,
          "open",
          "The observer is new: open registers it. It runs for later changes; backfill makes it due on existing cells.",
        );
      } else if (!isOf(record, observer.target)) {
        this.#add(
          name,
          "program",
          `open refuses the program: the observer is registered for ${record.table}.${record.column}. Give it another name.`,
        );
      } else if (observer.version > record.version) {
        this.#add(
          name,
          "backfill",
          `The program has version ${observer.version}, after version ${record.version}: open registers it, and backfill makes it due on existing cells.`,
        );
      } else if (observer.version < record.version) {
        this.#add(
          name,
          "program",
          `open refuses the program: the observer is registered in version ${record.version}, and the program has version ${observer.version}.`,
        );
      }
    }
    const declared = new Set(observers.map(({ name }) => name));
    for (const name of this.#view.observers.keys()) {
      if (declared.has(name)) continue;
      this.#add(
        `observer ${name}`,
        "unregister",
        "The program does not have the observer. If no program runs it, unregister it: its changes wait for it.",
      );
    }
  }

  #feeds(feeds: readonly Feed[]): void {
    for (const feed of feeds) {
      const name = `feed ${feed.name}`;
      const record = this.#view.feedRecords.get(feed.name)?.record;
      if (record === undefined) this.#add(name, "open", "The feed is new: open records it.");
      else if (!followsSame(record, feed)) {
        this.#add(
          name,
          "program",
          "open refuses the program: the recorded feed follows other columns. Give the feed another name.",
        );
      } else if (record.retentionMs !== feed.retentionMs) {
        this.#add(
          name,
          "open",
          `Its retention is ${record.retentionMs} ms: open records ${feed.retentionMs} ms.`,
        );
      }
    }
    const declared = new Set(feeds.map(({ name }) => name));
    for (const [name, { record }] of this.#view.feedRecords) {
      if (record.isLeased || declared.has(name)) continue;
      this.#add(
        `feed ${name}`,
        "removeFeed",
        "The program does not declare the feed. If nobody reads it, remove it.",
      );
    }
  }
}
