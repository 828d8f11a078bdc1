import { columnWriter, isColumnKeeper } from "../../recipes/index.js";
import {
  type AnyTable,
  type Column,
  type ColumnName,
  definition,
  describeColumn,
  isSameColumn,
  plainCodec,
  type TableDefinition,
} from "../../schema/index.js";
import type { Transaction } from "../../transaction/index.js";
import { UsageError } from "../usage-error.js";
import type { OpenedDatabase } from "./open-database.js";

/** What `--force` says in the help of a command that writes. */
export const forceHelp =
  "write what is refused without the module: past schemas, unique constraints and exact indexes";

/** What a command writes a column by, so that the column's schema, unique constraints and exact indexes hold. */
export interface CellWriter {
  /** The column, with the codec that its values are written by. */
  readonly column: Column<unknown, unknown>;
  set(tx: Transaction, row: unknown, value: unknown): Promise<void> | void;
  delete(tx: Transaction, row: unknown): Promise<void> | void;
}

export interface WriteOptions {
  /** Writes what would be refused, past the schema and what is kept with the column. Default: false. */
  readonly force?: boolean | undefined;
}

/** Finds how a command may write columns; refuses what only the program's module can write as it must be written. */
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

  /** With what the database has recorded now. */
  static async of(opened: OpenedDatabase, options: WriteOptions): Promise<CellWriters> {
    return new CellWriters(opened, await opened.db.tables(), options);
  }

  /**
   * For values of a column.
   *
   * @throws UsageError if the module does not know the column's values, or what is written with them, and nothing is forced.
   */
  forValues(column: Column<unknown, unknown>): CellWriter {
    const why = this.#whyUnreadable(column);
    if (why === undefined) return this.#keeping(column);
    this.#refuse(column, why);
    return this.#keeping(Object.create(column, { codec: { value: plainCodec(column.codec.tag) } }));
  }

  /** For deletes of a column, which its schema does not concern. Throws as {@link forValues} does. */
  forDeletes(column: Column<unknown, unknown>): CellWriter {
    return this.#keeping(column);
  }

  /** For deletes of whole rows: writers of the columns that have something kept with them. Throws as {@link forValues} does. */
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
    const bound = Reflect.get(this.#opened.table(table)!, column) as
      | Column<unknown, unknown>
      | { at(qualifier: string): Column<unknown, unknown> }
      | undefined;
    return bound !== undefined && "at" in bound ? bound.at(qualifier ?? "") : bound;
  }

  /** Why values of the column cannot be checked as the program checks them. */
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
    if (isDeclared || plainCodec(recorded.tag).tag === recorded.tag) return undefined;
    return `its values have ${recorded.tag === "oneOf" ? "choices" : "a codec of their own"} ${ofModule}`;
  }

  /** Writes what is kept with the column too. */
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
          `table ${kept} (a unique constraint or an exact index) is written together with it`,
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
      `${what} was not written: ${why}. Give ${missing} by --app FILE, or --force to write it all the same.`,
      "SCHEMA",
    );
  }
}

function followsFrom({ table, column, qualifier }: ColumnName): string {
  return `its rows follow from column ${table}.${column}${qualifier === undefined ? "" : `:${qualifier}`}, and are written with it`;
}
