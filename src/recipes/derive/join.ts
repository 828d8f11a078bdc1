import {
  type AnyTable,
  boolean,
  type Codec,
  type Column,
  InvalidArgumentError,
  InvalidValueError,
  int,
  json,
  type KeyOf,
  observer,
  signal,
  type Transaction,
  table,
  text,
  tuple,
} from "../../index.js";
import { checkOptions, type OptionKind } from "../options.js";
import { nextTurn } from "../queue/turns.js";
import { columnOf, propertyOf, type View } from "../view.js";
import { type DerivationOptions, type DerivationParts, observerOptions } from "./derivation.js";
import { setRow } from "./set-row.js";
import { type AnyRow, type ColumnNames, type OnFailed, reasonOf, Source, type SourceRow } from "./source.js";

/** The columns of a join's derived table, each with its codec. */
export type JoinColumns = Readonly<Record<string, Codec<unknown>>>;

/** What `select` returns for a row of a join: the values of its columns, or `undefined` for no row. */
export type JoinedValues<C extends JoinColumns> =
  | { readonly [N in keyof C]?: (C[N] extends Codec<infer V> ? V : never) | undefined }
  | undefined;

interface JoinBase<
  L extends AnyTable,
  R extends AnyTable,
  C extends JoinColumns,
  K,
  LN extends ColumnNames<L>,
  RN extends ColumnNames<R>,
> extends DerivationOptions {
  /** The left table. The result has its keys. It may be a derived table. */
  readonly from: L;
  /**
   * Returns the key of the row in the right table that belongs to a left row, or `undefined` if
   * none does.
   */
  readonly on: (left: SourceRow<L, LN>, key: KeyOf<L>) => K | undefined;
  /**
   * The columns of the left table that `on` and `select` read. Changes of other columns then cost
   * nothing. A row exists if one of them has a value. Default: all.
   */
  readonly reads?: readonly LN[] | undefined;
  /**
   * The columns of the right table that `select` reads. A change of one of them derives all left rows
   * of the right row again, and changes of other columns then cost nothing. A row exists if one of
   * them has a value. Default: all.
   */
  readonly rightReads?: readonly RN[] | undefined;
  /** The columns of the result. */
  readonly columns: C;
}

/** The options of an inner join: a row for each left row that has a right row. */
export interface JoinOptions<
  L extends AnyTable,
  R extends AnyTable,
  C extends JoinColumns,
  K extends KeyOf<R> = KeyOf<R>,
  LN extends ColumnNames<L> = ColumnNames<L>,
  RN extends ColumnNames<R> = ColumnNames<R>,
> extends JoinBase<L, R, C, K, LN, RN> {
  /** The right table. It may be a derived table. */
  readonly join: R;
  /** Returns the values of the result's row from both rows. It must be pure. */
  readonly select: (left: SourceRow<L, LN>, right: SourceRow<R, RN>, key: KeyOf<L>) => JoinedValues<C>;
}

/** The options of a left join: a row for each left row, with or without a right row. */
export interface LeftJoinOptions<
  L extends AnyTable,
  R extends AnyTable,
  C extends JoinColumns,
  K extends KeyOf<R> = KeyOf<R>,
  LN extends ColumnNames<L> = ColumnNames<L>,
  RN extends ColumnNames<R> = ColumnNames<R>,
> extends JoinBase<L, R, C, K, LN, RN> {
  /** The right table. It may be a derived table. */
  readonly leftJoin: R;
  /** Returns the values of the result's row. `right` is `undefined` if there is no right row. */
  readonly select: (
    left: SourceRow<L, LN>,
    right: SourceRow<R, RN> | undefined,
    key: KeyOf<L>,
  ) => JoinedValues<C>;
}

/** The options of a join without their types. */
export interface AnyJoinOptions extends DerivationOptions {
  readonly from: AnyTable;
  readonly join?: AnyTable | undefined;
  readonly leftJoin?: AnyTable | undefined;
  readonly on: (left: AnyRow, key: unknown) => unknown;
  readonly reads?: readonly string[] | undefined;
  readonly rightReads?: readonly string[] | undefined;
  readonly columns: JoinColumns;
  readonly select: (left: AnyRow, right: AnyRow | undefined, key: unknown) => unknown;
}

const optionKinds: Readonly<Record<keyof AnyJoinOptions, OptionKind>> = {
  from: "any",
  join: "any",
  leftJoin: "any",
  on: "function",
  reads: "any",
  rightReads: "any",
  columns: "any",
  select: "function",
  version: "any",
  observer: "any",
  environment: "any",
};

/** Most left rows that one run notifies of a change of their right row. */
const linksAtOnce = 1_000;

/** Where the next run goes on to notify left rows, and how many runs in a row left some over. */
interface Resumption {
  readonly from: string;
  readonly runs: number;
  /**
   * Set if the right row changed again meanwhile: where to begin again after the last left row. Going
   * back at once would never reach the last ones of a right row that changes often.
   */
  readonly again?: string;
}

type LinkKey = readonly [right: string, left: string];

/** Returns the parts of a join. Declares tables and observers of its name. */
export function join(name: string, options: AnyJoinOptions): DerivationParts<AnyTable> {
  checkOptions("derive", options, optionKinds);
  if ((options.join === undefined) === (options.leftJoin === undefined)) {
    throw new InvalidArgumentError(`Derivation "${name}" takes \`join\` or \`leftJoin\`, not both.`);
  }
  return new Join(name, options).parts;
}

/**
 * Keeps a join. The observers of the left table write the result's row, and a link from the right
 * row's key to the left row. The observers of the right table follow these links, and notify the
 * left rows.
 */
class Join {
  readonly parts: DerivationParts<AnyTable>;
  readonly #options: AnyJoinOptions;
  readonly #left: Source;
  readonly #right: Source;
  readonly #columns: readonly Column<unknown, unknown>[];
  readonly #rows;
  readonly #links: Column<boolean, LinkKey>;
  readonly #fans;

  constructor(name: string, options: AnyJoinOptions) {
    this.#options = options;
    const { join: inner, leftJoin } = options;
    this.#left = new Source(name, "from", options.from, options.reads);
    this.#right = new Source(
      name,
      inner === undefined ? "leftJoin" : "join",
      (inner ?? leftJoin)!,
      options.rightReads,
    );
    const derived: AnyTable = table(name, options.columns, { key: this.#left.key });
    this.#columns = Object.values(derived as unknown as Record<string, Column<unknown, unknown>>);
    if (this.#columns.some(({ kind }) => kind !== "column")) {
      throw new InvalidArgumentError(
        `Derivation "${name}": \`columns\` takes codecs such as text(), and no families or signals.`,
      );
    }
    this.#rows = table(`${name}_rows`, { right: text(), due: signal() }, { key: this.#left.key });
    const links = table(`${name}_links`, { link: boolean() }, { key: tuple(text(), text()) });
    this.#links = columnOf(links, "link");
    this.#fans = table(
      `${name}_fans`,
      { resume: json<Resumption>(), due: signal() },
      { key: tuple(text(), int()) },
    );
    const state = table(`${name}_state`, { version: int() });
    const plain = observerOptions(options);
    // A left row that joins a right row, and a change of that right row, must not overlook each
    // other. Serializable runs conflict if what they read has changed.
    const serializable = { ...plain, isolation: "serializable" as const };
    const refresh = (tx: Transaction, row: unknown) => this.#refresh(tx, row);
    this.parts = {
      name,
      version: options.version ?? 1,
      table: derived,
      columns: this.#columns,
      tables: [derived, this.#rows, links, this.#fans, state],
      sources: this.#left.observers(`${name}-left`, refresh, serializable),
      others: [
        observer(name, this.#rows.due, (tx, { row }) => refresh(tx, row), serializable),
        ...this.#right.observers(`${name}-right`, (tx, row) => this.#spread(tx, row), plain),
        observer(
          `${name}-right`,
          this.#fans.due,
          (tx, { row: [right, turn] }) => this.#goOn(tx, right, turn),
          plain,
        ),
      ],
      source: this.#left,
      kept: derived,
      update: async (tx, rows) => {
        for (const row of rows) await refresh(tx, row);
      },
      backfilled: state.version,
      recompute: (view, onFailed) => this.#recompute(view, onFailed),
    };
  }

  /** Derives the result of a left row again. */
  async #refresh(tx: Transaction, row: unknown): Promise<void> {
    const left = await this.#left.read(tx, row);
    const right = left === undefined ? undefined : this.#rightOf(left, row);
    const other = right === undefined ? undefined : await this.#right.read(tx, right.key);
    const values = left === undefined ? undefined : this.#valuesOf(left, other, row);
    await setRow(tx, this.#columns, row, values ?? {});
    const before = await tx.get(this.#rows.right, row);
    if (before === right?.text) return;
    const leftText = this.#left.keys.format(row);
    if (before !== undefined) tx.delete(this.#links, [before, leftText]);
    if (right === undefined) tx.delete(this.#rows.right, row);
    else {
      tx.set(this.#links, [right.text, leftText], true);
      tx.set(this.#rows.right, row, right.text);
    }
  }

  /** Notifies the left rows of a right row that has changed. */
  async #spread(tx: Transaction, rightRow: unknown): Promise<void> {
    const right = this.#right.keys.format(rightRow);
    const from = await this.#notifyLinked(tx, right, undefined);
    if (from === undefined) return;
    const underWay = await tx.get(this.#fans.resume, [right, 0]);
    const resumption = underWay === undefined ? { from, runs: 0 } : { ...underWay, again: from };
    tx.set(this.#fans.resume, [right, 0], resumption);
    tx.notify(this.#fans.due, [right, 0]);
  }

  /** Notifies the next left rows of a right row that has many. */
  async #goOn(tx: Transaction, right: string, turn: number): Promise<void> {
    const resumption = await tx.get(this.#fans.resume, [right, 0]);
    if (resumption === undefined) return;
    const left = await this.#notifyLinked(tx, right, resumption.from);
    const runs = resumption.runs + 1;
    let next: Resumption | undefined;
    if (left !== undefined) next = { ...resumption, from: left, runs };
    else if (resumption.again !== undefined) next = { from: resumption.again, runs };
    if (next === undefined) tx.delete(this.#fans.resume, [right, 0]);
    else {
      tx.set(this.#fans.resume, [right, 0], next);
      tx.notify(this.#fans.due, [right, nextTurn(turn, runs)]);
    }
  }

  /** Returns the first left row that is left over, or `undefined` if none is. */
  async #notifyLinked(tx: Transaction, right: string, from: string | undefined): Promise<string | undefined> {
    const range = { prefix: [right] as const, limit: linksAtOnce + 1 };
    const scan = tx.scan(this.#links, from === undefined ? range : { ...range, start: [right, from] });
    let notified = 0;
    for await (const { row } of scan) {
      if (notified++ === linksAtOnce) return row[1];
      tx.notify(this.#rows.due, this.#left.keys.parse(row[1]));
    }
    return undefined;
  }

  #rightOf(left: AnyRow, row: unknown): { readonly key: unknown; readonly text: string } | undefined {
    const key = this.#options.on(left, this.#left.copyOf(row));
    if (key === undefined) return undefined;
    try {
      // Encoded only to refuse a key of the wrong type: a string key's text is the key itself.
      this.#right.key.encode(key);
      return { key, text: this.#right.keys.format(key) };
    } catch (cause) {
      throw new InvalidValueError(
        `${this.#left.at(row)}: \`on\` returned no key of ${this.#right.name}: ${reasonOf(cause)}`,
        {
          cause,
        },
      );
    }
  }

  #valuesOf(left: AnyRow, other: AnyRow | undefined, row: unknown): AnyRow | undefined {
    if (other === undefined && this.#options.leftJoin === undefined) return undefined;
    const values = this.#options.select(left, other, this.#left.copyOf(row));
    if (values === undefined) return undefined;
    const names = this.#columns.map(propertyOf);
    if (typeof values !== "object" || values === null || values instanceof Promise) {
      throw new InvalidValueError(`${this.#left.at(row)}: \`select\` must return an object or undefined.`);
    }
    const unknown = Object.keys(values).find((name) => !names.includes(name));
    if (unknown === undefined) return values as AnyRow;
    throw new InvalidValueError(
      `${this.#left.at(row)}: \`select\` returned a column ${unknown}, but \`columns\` has ${names.join(", ")}.`,
    );
  }

  async *#recompute(
    view: View,
    onFailed: OnFailed,
  ): AsyncGenerator<{ readonly row: unknown; readonly value: AnyRow }, void, undefined> {
    for await (const { row, value: left } of this.#left.scan(view)) {
      const found = this.#left.attempt(row, onFailed, () => ({ right: this.#rightOf(left, row) }));
      if (found === undefined) continue;
      const { right } = found;
      const other = right === undefined ? undefined : await this.#right.read(view, right.key);
      const value = this.#left.attempt(row, onFailed, () => this.#valuesOf(left, other, row));
      if (value === undefined || Object.values(value).every((each) => each === undefined)) continue;
      yield { row, value };
    }
  }
}
