import { StoreDamagedError } from "../../errors/index.js";
import {
  asBuffer,
  type Column,
  decodeRow,
  decodeValue,
  type Family,
  type FeedColumn,
  parsePath,
} from "../../schema/index.js";
import type { BufferedWrite } from "../../transaction/index.js";
import type { CommittedEntry } from "./feed-entries.js";

/** A committed change of one cell. `K` is the type of the row's key, `V` that of the value. */
export interface CellChange<K = unknown, V = unknown, C = FeedColumn> {
  /**
   * The commit timestamp of its transaction. Pass it as `since` to continue after that transaction,
   * once its last change is handled.
   */
  readonly commitTimestamp: number;
  readonly table: string;
  readonly row: K;
  /** The column or family, as the feed declares it. */
  readonly column: C;
  /** The qualifier of a family's cell. Undefined for a column. */
  readonly qualifier: string | undefined;
  /** The new value. Undefined if the cell was deleted. */
  readonly value: V | undefined;
  readonly isDeleted: boolean;
  /** The label of the transaction. Undefined if it has none. */
  readonly label: string | undefined;
  /** The observer whose run the transaction was. Undefined for any other transaction. */
  readonly observer: string | undefined;
  /** Whether it is the last of its transaction's changes in this feed. */
  readonly isLast: boolean;
}

/** A committed change in a feed with columns of type `C`. */
export type FeedChange<C extends FeedColumn = FeedColumn> =
  C extends Column<infer V, infer K, infer _>
    ? CellChange<K, V, C>
    : C extends Family<infer V, infer K, infer _>
      ? CellChange<K, V, C>
      : never;

/** Decodes the changes of an entry. `columns` are those of the feed. */
export function* changesOf(entry: CommittedEntry, columns: readonly FeedColumn[]): Generator<CellChange> {
  const { commitTimestamp, label, observer, writes } = entry;
  for (const [index, write] of writes.entries()) {
    const { column, qualifier } = place(write, columns);
    const row = decodeRow(column.table, write.row);
    const cell = column.kind === "family" ? column.at(qualifier ?? "") : column;
    const { value } = write;
    yield Object.freeze({
      commitTimestamp,
      table: write.table,
      row,
      column,
      qualifier,
      value: value === undefined ? undefined : decodeValue(cell, row, asBuffer(value)),
      isDeleted: value === undefined,
      label,
      observer,
      isLast: index === writes.length - 1,
    });
  }
}

function place(write: BufferedWrite, columns: readonly FeedColumn[]) {
  const { name, qualifier } = parsePath(write.column);
  const column = columns.find((each) => each.name === name && each.table.name === write.table);
  if (column !== undefined) return { column, qualifier };
  throw new StoreDamagedError(
    `A feed has a change of ${write.table}.${name}, which it does not follow. Run \`percolator check\`.`,
  );
}
