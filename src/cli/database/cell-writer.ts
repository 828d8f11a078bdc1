import { columnWriter, isColumnKeeper } from "../../recipes/index.js";
import {
  type AnyTable,
  bindColumn,
  type Column,
  type ColumnName,
  definition,
  describeColumn,
  isSameColumn,
  plainCodec,
  type TableDefinition,
  valueTag,
} from "../../schema/index.js";
import type { Transaction } from "../../transaction/index.js";
import { UsageError } from "../usage-error.js";
import type { OpenedDatabase } from "./open-database.js";

/** The help text of `--force` for commands that write. */
export const forceHelp = "write without the module: skip schemas, unique constraints and exact indexes";

/**
 * Writes the values of one column, and keeps its unique constraints and exact indexes up to date.
 * Refuses values that the column's schema refuses.
 */
export interface CellWriter {
  /** The column, with the codec that encodes its values. */
  readonly column: Column<unknown, unknown>;
  set(tx: Transaction, row: unknown, value: unknown): Promise<void> | void;
  delete(tx: Transaction, row: unknown): Promise<void> | void;
}

export interface WriteOptions {
  /**
   * Whether to skip the checks: the schema, unique constraints and exact indexes of the column.
   * Default: false.
   */
  readonly force?: boolean | undefined;
}

/**
 * Decides how a command may write a column. Refuses a column that only the program's module can
 * write correctly.
 */
export class CellWriters {
  readonly #opened: OpenedDatabase;
  readonly #recorded: ReadonlyMap<string, AnyTable>;
  readonly #isForced: boolean;

  private constructor(
    opened: OpenedDatabase,
    recorded: ReadonlyMap<string, AnyTable>,
    { force }: WriteOptions,
  ) {
    this.#opened = opened;
    this.#recorded = recorded;
    this.#isForced = force === true;
  }

  /** Reads what the database has recorded now. */
  static async of(opened: OpenedDatabase, options: WriteOptions): Promise<CellWriters> {
    return new CellWriters(opened, await opened.db.tables(), options);
  }

  /**
   * Returns the writer for values of a column.
   *
   * @throws UsageError if `--force` was not given and only the module has the column's codec or
   * schema, or its constraints and indexes.
   */
  forValues(column: Column<unknown, unknown>): CellWriter {
    const why = this.#whyUnreadable(column);
    if (why === undefined) return this.#keeping(column);
    this.#refuse(column, why);
    const { tag, versions } = column.codec;
    return this.#keeping(Object.create(column, { codec: { value: plainCodec(tag, versions?.written) } }));
  }

  /**
   * Returns the writer for deletes of a column. The schema does not matter for a delete. Throws as
   * {@link forValues} does.
   */
  forDeletes(column: Column<unknown, unknown>): CellWriter {
    return this.#keeping(column);
  }

  /**
   * Returns the writers for deletes of whole rows: one for each column with a constraint or index.
   * Throws as {@link forValues} does.
   */
  forRows(table: TableDefinition): readonly CellWriter[] {
    const own = this.#recorded.get(table.name)?.[definition].writtenWith;
    if (own !== undefined) this.#refuse({ table }, followsFrom(own));
    const names = [...this.#recorded.values()].map((each) => each[definition].writtenWith);
    const kept = names.filter((name) => name?.table === table.name) as readonly ColumnName[];
    return kept.flatMap((name) => {
      const column = this.#columnOf(table, name);
      return column === undefined ? [] : [this.#keeping(column)];
    });
  }

  #columnOf({ name: table }: TableDefinition, { column, qualifier }: ColumnName) {
    const bound = bindColumn(this.#opened.table(table)![definition], column) as
      | Column<unknown, unknown>
      | { at(qualifier: string): Column<unknown, unknown> }
      | undefined;
    return bound !== undefined && "at" in bound ? bound.at(qualifier ?? "") : bound;
  }

  /**
   * Returns why the command cannot check values of the column as the program does, or undefined if
   * it can.
   */
  #whyUnreadable({ table, name, codec }: Column<unknown, unknown>): string | undefined {
    const isDeclared = this.#opened.app?.tables.some((each) => each[definition] === table) === true;
    const recorded = this.#recorded.get(table.name)?.[definition].columns.get(name)?.codec ?? codec;
    const ofModule = "that only the program's module knows";
    if (recorded.hasSchema) {
      if (isDeclared && codec.hasSchema) return undefined;
      return isDeclared
        ? "it is recorded with a schema, and the module declares it without one"
        : `its values are checked by a schema ${ofModule}`;
    }
    if (isDeclared) return undefined;
    if (recorded.versions !== undefined) return `its values have a version ${ofModule}`;
    if (plainCodec(recorded.tag).tag === recorded.tag) return undefined;
    return `its values have ${valueTag(recorded.tag) === "oneOf" ? "choices" : "a custom codec"} ${ofModule}`;
  }

  /** Returns a writer that also updates the column's constraints and indexes. */
  #keeping(column: Column<unknown, unknown>): CellWriter {
    const { table, name, qualifier } = column;
    const own = this.#recorded.get(table.name)?.[definition].writtenWith;
    if (own !== undefined) this.#refuse(column, followsFrom(own));
    const named = { table: table.name, column: name, qualifier };
    const keepers = [];
    for (const [kept, recorded] of this.#recorded) {
      const { writtenWith } = recorded[definition];
      if (writtenWith === undefined || !isSameColumn(writtenWith, named)) continue;
      const { writer } = this.#opened.table(kept)![definition];
      if (isColumnKeeper(writer)) keepers.push(writer);
      else
        this.#refuse(
          column,
          `table ${kept} (a unique constraint or an exact index) must be written together with it`,
        );
    }
    const [first, ...others] = keepers;
    if (first === undefined) {
      return {
        column,
        set: (tx, row, value) => tx.set(column, row, value),
        delete: (tx, row) => tx.delete(column, row),
      };
    }
    const writer = columnWriter(first, ...others);
    return {
      column,
      set: (tx, row, value) => writer.set(tx, row, value),
      delete: (tx, row) => writer.delete(tx, row),
    };
  }

  #refuse(target: Column<unknown, unknown> | { readonly table: TableDefinition }, why: string): void {
    if (this.#isForced) return;
    const { table } = target;
    const what = "name" in target ? `Column ${describeColumn(target)}` : `Table ${table.name}`;
    const missing = this.#opened.app === undefined ? "the module" : "a module with all its tables";
    throw new UsageError(
      `${what} was not written: ${why}. Give ${missing} with --app FILE, or --force to write it anyway.`,
      "SCHEMA",
    );
  }
}

function followsFrom({ table, column, qualifier }: ColumnName): string {
  return `its rows are derived from column ${table}.${column}${qualifier === undefined ? "" : `:${qualifier}`}, and must be written with it`;
}
