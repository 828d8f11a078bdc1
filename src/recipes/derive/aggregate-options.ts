import type { AnyTable, Codec, KeyOf } from "../../index.js";
import type { KeyOfParts, KeyParts } from "../key-parts.js";
import type { DerivationOptions } from "./derivation.js";
import type { Rankable } from "./ranked.js";
import type { AnyRow, ColumnNames, SourceRow } from "./source.js";

/** One of the greatest values of a group, as the column `top` lists them. */
export interface TopEntry<V extends Rankable = Rankable> {
  /** The value. */
  readonly by: V;
  /** The key of the source's row, as text: a string key unchanged, a composite key as JSON. */
  readonly row: string;
}

/** What `top` of {@link AggregateOptions} asks for. */
export interface TopOptions<T extends AnyTable, N extends ColumnNames<T>, V> {
  /** How many rows to list. From 1 to 1,000. */
  readonly n: number;
  /** Returns the value by which rows are ranked, or `undefined` to leave the row out. */
  readonly by: (row: SourceRow<T, N>, key: KeyOf<T>) => V;
}

/** The key of a row's group. If a part is `undefined`, the row belongs to no group. */
export type GroupKey<P extends KeyParts> =
  | { readonly [I in keyof KeyOfParts<P>]: KeyOfParts<P>[I] | undefined }
  | undefined;

/**
 * The options of a derivation that groups rows and aggregates each group. Its functions must be
 * pure: they always return the same result for the same row.
 */
export interface AggregateOptions<
  T extends AnyTable,
  P extends KeyParts,
  N extends ColumnNames<T>,
  Count extends boolean,
  Sum extends number | undefined,
  Min extends Rankable | undefined,
  Max extends Rankable | undefined,
  Top extends Rankable | undefined,
> extends DerivationOptions {
  /** The table whose rows are aggregated. It may be a derived table. */
  readonly from: T;
  /**
   * The columns that the functions read. Changes of other columns then cost nothing. A row exists
   * if one of them has a value. Default: all.
   */
  readonly reads?: readonly N[] | undefined;
  /** The parts of the groups' keys, as for `tuple`. Required with `groupBy`. */
  readonly key?: P | undefined;
  /**
   * Returns the key of a row's group, or `undefined` to leave the row out. Default: all rows are in
   * one group, with the key `"all"`.
   */
  readonly groupBy?: ((row: SourceRow<T, N>, key: KeyOf<T>) => GroupKey<P>) | undefined;
  /** Whether to count the rows of each group, in the column `count`. Default: false. */
  readonly count?: Count | undefined;
  /**
   * Returns what a row adds to its group's sum, in the column `sum`. `undefined` adds nothing. Sums
   * of integers are exact, and others are rounded once. Default: no sum.
   */
  readonly sum?: ((row: SourceRow<T, N>, key: KeyOf<T>) => Sum) | undefined;
  /** Returns the value whose least is in the column `min`. Default: none. */
  readonly min?: ((row: SourceRow<T, N>, key: KeyOf<T>) => Min) | undefined;
  /** Returns the value whose greatest is in the column `max`. Default: none. */
  readonly max?: ((row: SourceRow<T, N>, key: KeyOf<T>) => Max) | undefined;
  /**
   * `{ n, by }`: lists the `n` rows, from 1 to 1,000, for which `by` returns the greatest values, in
   * the column `top`, the greatest first. Of equal values, the row with the greater key comes first.
   * Default: none.
   */
  readonly top?: TopOptions<T, N, Top> | undefined;
  /**
   * Number of partial sums of a group, which is the most runs that change one group at the same
   * time without conflicts. From 1 to 1,024. Default: 256. It may be changed.
   */
  readonly shards?: number | undefined;
  readonly index?: undefined;
  readonly join?: undefined;
  readonly leftJoin?: undefined;
}

interface EveryColumn<Min, Max, Top> {
  readonly count: Codec<number>;
  readonly sum: Codec<number>;
  readonly min: Codec<Exclude<Min, undefined>>;
  readonly max: Codec<Exclude<Max, undefined>>;
  readonly top: Codec<readonly TopEntry<Extract<Top, Rankable>>[]>;
}

/** The columns of a derived table of groups: those that were asked for. */
export type AggregateColumns<Count, Sum, Min, Max, Top> = Pick<
  EveryColumn<Min, Max, Top>,
  | (true extends Count ? "count" : never)
  | ([Sum] extends [never] ? never : "sum")
  | ([Min] extends [never] ? never : "min")
  | ([Max] extends [never] ? never : "max")
  | ([Top] extends [never] ? never : "top")
>;

/** The type of the groups' keys. */
export type GroupRow<P extends KeyParts> = [P] extends [never] ? string : KeyOfParts<P>;

type RowFunction = (row: AnyRow, key: unknown) => unknown;

/** {@link AggregateOptions} without its types. */
export interface AnyAggregateOptions extends DerivationOptions {
  readonly from: AnyTable;
  readonly reads?: readonly string[] | undefined;
  readonly key?: KeyParts | undefined;
  readonly groupBy?: RowFunction | undefined;
  readonly count?: boolean | undefined;
  readonly sum?: RowFunction | undefined;
  readonly min?: RowFunction | undefined;
  readonly max?: RowFunction | undefined;
  readonly top?: { readonly n: number; readonly by: RowFunction } | undefined;
  readonly shards?: number | undefined;
}
