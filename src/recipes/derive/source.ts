import {
  type AnyColumn,
  type AnyTable,
  type BatchOptions,
  batchRowObservers,
  type Column,
  type Family,
  InvalidArgumentError,
  InvalidValueError,
  type KeyCodec,
  type Observer,
  type ObserverOptions,
  PercolatorError,
  type RowOf,
  rowObservers,
  type Transaction,
} from "../../index.js";
import { type KeyText, keyText } from "../key-text.js";
import { propertyOf, type View } from "../view.js";

/** The names of a table's columns and families. */
export type ColumnNames<T extends AnyTable> = keyof RowOf<T> & string;

/** A row of a source, as the functions of a derivation receive it. */
export type SourceRow<T extends AnyTable, N extends ColumnNames<T> = ColumnNames<T>> = Pick<RowOf<T>, N>;

/** A row of a source without its types. */
export type AnyRow = Readonly<Record<string, unknown>>;

/**
 * Takes a row that cannot be derived, as text, and why. `isDerived`: the row is one of the derived
 * table, and not of a source.
 */
export type OnFailed = (row: string, error: unknown, isDerived: boolean) => void;

/** Rows of at most this many columns are read column by column, which a folder does faster. */
const maxSingleReads = 4;

/** The most columns whose observers share their runs, as `rowObservers` takes them. */
const maxShared = 100;

type Observed = Column<unknown, unknown> | Family<unknown, unknown>;

/**
 * A table from which something is derived: it reads rows for the derivation's functions, and
 * declares the observers of the columns that they use.
 */
export class Source {
  readonly table: AnyTable;
  readonly name: string;
  readonly key: KeyCodec<unknown>;
  readonly keys: KeyText<unknown>;
  readonly #derivation: string;
  readonly #observed: readonly Observed[];
  /** Whether rows are read whole, as a store of many columns or of families is read fastest. */
  readonly #readsWhole: boolean;
  readonly #names: ReadonlySet<string>;

  constructor(derivation: string, option: string, table: AnyTable, reads: readonly string[] | undefined) {
    const columns = columnsOf(table);
    const first = columns[0];
    if (first === undefined) {
      throw new InvalidArgumentError(
        `Derivation "${derivation}": \`${option}\` must be a table that \`table(name, columns)\` returned.`,
      );
    }
    this.table = table;
    this.name = first.table.name;
    this.key = first.table.key;
    this.keys = keyText(this.key);
    this.#derivation = derivation;
    const readable = columns.filter((each): each is Observed => each.kind !== "signal");
    this.#observed = reads === undefined ? readable : reads.map((name) => this.#named(readable, name));
    this.#readsWhole =
      reads === undefined &&
      (readable.length > maxSingleReads || readable.some(({ kind }) => kind === "family"));
    this.#names = new Set(this.#observed.map(propertyOf));
    if (this.#names.size > 0 && this.#names.size === this.#observed.length) return;
    throw new InvalidArgumentError(
      `Derivation "${derivation}" must read at least one column of ${this.name}, and each once.`,
    );
  }

  #named(columns: readonly Observed[], name: string): Observed {
    const found = columns.find((each) => propertyOf(each) === name);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(
      `Derivation "${this.#derivation}" cannot read ${String(name)}: table ${this.name} has no such column. It has ` +
        `${columns.map(propertyOf).join(", ")}.`,
    );
  }

  /** Returns a row key for a function of the program, which may change it. */
  copyOf(row: unknown): unknown {
    return typeof row === "string" ? row : this.keys.parse(this.keys.format(row));
  }

  /** Declares an observer for each column, named after it. Each hundred of them share their runs. */
  observers(
    prefix: string,
    run: (tx: Transaction, row: unknown) => Promise<void>,
    options: ObserverOptions,
  ): readonly Observer[] {
    return this.#shared((columns) => rowObservers(prefix, columns, (tx, { row }) => run(tx, row), options));
  }

  /** As {@link observers}, with runs for several rows at a time. */
  batchObservers(
    prefix: string,
    run: (tx: Transaction, rows: readonly unknown[]) => Promise<void>,
    options: BatchOptions,
  ): readonly Observer[] {
    return this.#shared((columns) =>
      batchRowObservers(
        prefix,
        columns,
        (tx, changes) =>
          run(
            tx,
            changes.map(({ row }) => row),
          ),
        options,
      ),
    );
  }

  #shared(declare: (columns: readonly Observed[]) => readonly Observer[]): readonly Observer[] {
    const observers: Observer[] = [];
    for (let from = 0; from < this.#observed.length; from += maxShared) {
      observers.push(...declare(this.#observed.slice(from, from + maxShared)));
    }
    return observers;
  }

  /** Returns a row, or `undefined` if none of its columns has a value. */
  async read(view: View, row: unknown): Promise<AnyRow | undefined> {
    if (this.#readsWhole)
      return this.#picked((await view.row(this.table, row as never)) as AnyRow | undefined);
    const values = await Promise.all(this.#observed.map((column) => valueIn(view, column, row)));
    const read = this.#observed.map((column, index) => [propertyOf(column), values[index]] as const);
    return this.#picked(Object.fromEntries(read));
  }

  /** Yields every row of the view. */
  async *scan(view: View): AsyncGenerator<{ readonly row: unknown; readonly value: AnyRow }> {
    for await (const { row, value } of view.scan(this.table)) {
      const read = this.#picked(value as AnyRow);
      if (read !== undefined) yield { row, value: read };
    }
  }

  /** What functions of the program return for a row of {@link scan}. Undefined if one throws. */
  attempt<V>(row: unknown, onFailed: OnFailed, derive: () => V): V | undefined {
    try {
      return derive();
    } catch (cause) {
      const isNamed = cause instanceof PercolatorError;
      const error = isNamed ? cause : new InvalidValueError(`${this.at(row)}: ${reasonOf(cause)}`, { cause });
      onFailed(this.keys.format(row), error, false);
      return undefined;
    }
  }

  /** A row, for messages. */
  at(row: unknown): string {
    const shown = JSON.stringify(this.keys.format(row).slice(0, 100));
    return `Derivation "${this.#derivation}", row ${shown} of ${this.name}`;
  }

  /** The columns that are read. Undefined if none has a value: then the row has only others. */
  #picked(row: AnyRow | undefined): AnyRow | undefined {
    if (row === undefined) return undefined;
    // Without a prototype, as rows are: otherwise a column such as `constructor` would never be empty.
    const picked: Record<string, unknown> = Object.create(null);
    let isThere = false;
    for (const column of this.#observed) {
      const property = propertyOf(column);
      const value = row[property];
      if (value === undefined) continue;
      picked[property] = value;
      isThere ||= column.kind === "column" || (value as ReadonlyMap<string, unknown>).size > 0;
    }
    return isThere ? this.#guarded(picked) : undefined;
  }

  /**
   * Returns a row that throws if a function reads a column that is not there. A typing error in a
   * program without types would otherwise derive nothing from every row.
   */
  #guarded(row: AnyRow): AnyRow {
    return new Proxy(row, {
      get: (target, name) => {
        if (typeof name === "string" && !this.#names.has(name) && !isOfObjects(name))
          throw this.#unread(name);
        return Reflect.get(target, name) as unknown;
      },
    });
  }

  #unread(name: string): InvalidArgumentError {
    return new InvalidArgumentError(
      `Derivation "${this.#derivation}": a function reads ${this.name}.${name}, which is not one of the columns that the derivation ` +
        `reads: ${[...this.#names].join(", ")}.`,
    );
  }
}

/** Whether JavaScript itself may look for the property, such as `JSON.stringify`. */
function isOfObjects(name: string): boolean {
  return name === "toJSON" || name === "then" || name in Object.prototype;
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function columnsOf(table: AnyTable): readonly AnyColumn[] {
  if (typeof table !== "object" || table === null) return [];
  return Object.values(table as unknown as Record<string, AnyColumn>).filter(
    (each) => typeof each?.table?.name === "string",
  );
}

async function valueIn(view: View, column: Observed, row: unknown): Promise<unknown> {
  if (column.kind === "column") return view.get(column, row);
  const cells = new Map<string, unknown>();
  for await (const { qualifier, value } of view.entries(column, row)) cells.set(qualifier, value);
  return cells;
}
