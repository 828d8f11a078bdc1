import { checkOptionNames, SchemaError } from "../errors/index.js";
import { type Column, type Family, isColumn, isFamily, isSignal } from "./column.js";
import { describeValue } from "./describe.js";
import { checkName } from "./names.js";

// Symbol.for instead of instanceof, since two copies of the package may be loaded in one program.
const brand = Symbol.for("percolatordb.feed");

/** A column or a family that a feed follows. */
export type FeedColumn = Column<unknown, unknown> | Family<unknown, unknown>;

/** The options of {@link feed}. Each has a default. */
export interface FeedOptions {
  /**
   * How long the feed keeps its changes, in milliseconds: a reader that was away for less than this
   * misses nothing. Default: 3,600,000, an hour.
   */
  readonly retentionMs?: number | undefined;
}

/** A feed of committed changes, made by {@link feed}. `C` is the type of its columns. */
export interface Feed<C extends FeedColumn = FeedColumn> {
  readonly name: string;
  readonly columns: readonly C[];
  readonly retentionMs: number;
}

const hourMs = 3_600_000;
/** Every commit looks at the columns of its tables' feeds. */
const maxColumns = 100;

/**
 * Declares a feed: every committed change of some columns or families, in commit order. Other words
 * for it are change data capture, change stream and outbox.
 *
 * A declaration touches no database. Pass feeds to `open`, which records them: from then on, every
 * transaction of every process adds its changes. Read the feed with `db.changes` or `db.follow`.
 *
 * A feed costs each transaction that changes its columns one more cell. Without feeds, transactions
 * cost nothing more.
 *
 * @throws SchemaError for an invalid name, option or column, or if there is no column.
 *
 * @example
 * const orderFeed = feed("order-feed", [orders.total, orders.state], { retentionMs: 86_400_000 });
 * await using db = await open("./data", { feeds: [orderFeed] });
 * for await (const change of db.changes(orderFeed)) console.log(change.row, change.value);
 */
export function feed<const C extends readonly FeedColumn[]>(
  name: string,
  columns: C,
  options: FeedOptions = {},
): Feed<C[number]> {
  checkName("feed", name);
  checkOptionNames(`feed ${name}`, options, { retentionMs: true });
  const { retentionMs = hourMs } = options;
  if (!Number.isFinite(retentionMs) || retentionMs < 1) {
    throw new SchemaError(
      `Feed ${name}: \`retentionMs\` must be a number of at least 1, not ${describeValue(retentionMs)}.`,
    );
  }
  return Object.freeze({ [brand]: true, name, columns: checkColumns(name, columns), retentionMs });
}

/** Whether {@link feed} made the value, in this or another copy of the package. */
export function isFeed(value: unknown): value is Feed {
  return typeof value === "object" && value !== null && brand in value;
}

function checkColumns<C extends FeedColumn>(name: string, columns: readonly C[]): readonly C[] {
  if (!Array.isArray(columns) || columns.length === 0 || columns.length > maxColumns) {
    throw new SchemaError(`Feed ${name} needs an array of 1 to ${maxColumns} columns or families to follow.`);
  }
  const seen = new Set<string>();
  for (const column of columns as readonly unknown[]) {
    if (isSignal(column)) {
      throw new SchemaError(
        `Feed ${name} cannot follow the signal ${column.table.name}.${column.name}: a signal has no value. Follow a column.`,
      );
    }
    if (!isColumn(column) && !isFamily(column)) {
      throw new SchemaError(
        `Feed ${name} must follow columns or families of tables, not ${describeValue(column)}.`,
      );
    }
    const path = `${column.table.name}.${column.name}`;
    if (isColumn(column) && column.qualifier !== undefined) {
      throw new SchemaError(
        `Feed ${name} cannot follow one cell of the family ${path}: follow the family, and look at the \`qualifier\` of each change.`,
      );
    }
    if (seen.has(path)) throw new SchemaError(`Feed ${name} names ${path} twice: name it once.`);
    seen.add(path);
  }
  return Object.freeze([...columns]);
}
