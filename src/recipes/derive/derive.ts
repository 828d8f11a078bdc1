import { type AnyTable, InvalidArgumentError, type KeyOf, type Table } from "../../index.js";
import type { KeyParts } from "../key-parts.js";
import { aggregate } from "./aggregate.js";
import type {
  AggregateColumns,
  AggregateOptions,
  AnyAggregateOptions,
  GroupRow,
} from "./aggregate-options.js";
import { Derivation } from "./derivation.js";
import {
  type AnyIndexOptions,
  type DerivedIndex,
  type DerivedIndexOptions,
  derivedIndex,
} from "./derived-index.js";
import {
  type AnyJoinOptions,
  type JoinColumns,
  type JoinOptions,
  join,
  type LeftJoinOptions,
} from "./join.js";
import type { Rankable } from "./ranked.js";
import type { ColumnNames } from "./source.js";

/**
 * Declares a derived table, such as a count or a sum by group, the greatest rows of a group, a join
 * of two tables, or an index over several columns: a materialized view that observers keep up to
 * date, exactly, whenever a row of a source is inserted, changed or deleted. Work is proportional
 * to what changed.
 *
 * What to derive is one of: `count`, `sum`, `min`, `max` and `top`, together, in groups by
 * `groupBy`; `index`; `join`; `leftJoin`. Declares the table `NAME`, further tables `NAME_...`, the
 * observer `NAME`, and observers `NAME-...` of the sources' columns. The functions must be pure. If
 * you change one, or the columns that they read, raise `version`.
 *
 * @throws InvalidArgumentError for an option or a column that does not exist, `groupBy` without
 * `key`, or nothing to derive.
 *
 * @example
 * const revenue = derive("revenue", {
 *   from: orders,
 *   key: [text()],
 *   groupBy: (order) => [order.day],
 *   sum: (order) => order.total,
 * });
 * await using db = await open("./data", { tables: revenue.tables, observers: revenue.observers });
 * await revenue.backfill(db);
 * await snapshot.get(revenue.table.sum, ["2026-01-31"]);
 */
export function derive<
  T extends AnyTable,
  const P extends KeyParts,
  N extends ColumnNames<T> = ColumnNames<T>,
>(name: string, options: DerivedIndexOptions<T, P, N>): DerivedIndex<T, P>;
export function derive<
  L extends AnyTable,
  R extends AnyTable,
  C extends JoinColumns,
  const K extends KeyOf<R>,
  LN extends ColumnNames<L> = ColumnNames<L>,
  RN extends ColumnNames<R> = ColumnNames<R>,
>(name: string, options: JoinOptions<L, R, C, K, LN, RN>): Derivation<Table<C, KeyOf<L>>>;
export function derive<
  L extends AnyTable,
  R extends AnyTable,
  C extends JoinColumns,
  const K extends KeyOf<R>,
  LN extends ColumnNames<L> = ColumnNames<L>,
  RN extends ColumnNames<R> = ColumnNames<R>,
>(name: string, options: LeftJoinOptions<L, R, C, K, LN, RN>): Derivation<Table<C, KeyOf<L>>>;
export function derive<
  T extends AnyTable,
  const P extends KeyParts = never,
  N extends ColumnNames<T> = ColumnNames<T>,
  Count extends boolean = false,
  Sum extends number | undefined = never,
  Min extends Rankable | undefined = never,
  Max extends Rankable | undefined = never,
  Top extends Rankable | undefined = never,
>(
  name: string,
  options: AggregateOptions<T, P, N, Count, Sum, Min, Max, Top>,
): Derivation<Table<AggregateColumns<Count, Sum, Min, Max, Top>, GroupRow<P>>>;
export function derive(name: string, options: object): unknown {
  if (typeof name !== "string" || typeof options !== "object" || options === null) {
    throw new InvalidArgumentError("`derive` takes a name and an object of options.");
  }
  if ("index" in options && options.index !== undefined) {
    return derivedIndex(name, options as AnyIndexOptions);
  }
  const isJoin = ["join", "leftJoin", "on", "select"].some((each) => each in options);
  return new Derivation(
    isJoin ? join(name, options as AnyJoinOptions) : aggregate(name, options as AnyAggregateOptions),
  );
}
