import type { ValueShown } from "./shared.js";
import type { Writer } from "./versions.js";

/**
 * `GET api/rows?table=&prefix=&after=&limit=&at=`: rows as of `at`, which is a timestamp or
 * milliseconds since 1970. Default: now.
 */
export interface RowsPage {
  readonly table: string;
  /** Timestamp of the snapshot. */
  readonly at: number;
  readonly columns: readonly string[];
  /** How many parts the key has, if it is composite. A row is then a JSON array of as many. */
  readonly keyParts: number | undefined;
  /** What each of these parts is: `text`, `bytes`, `int`, `float` or `boolean`. */
  readonly keyKinds: readonly string[] | undefined;
  readonly rows: readonly RowShown[];
  /** The `after` of the next page; undefined at the end. */
  readonly next: string | undefined;
}

/** `GET api/row?table=&row=&at=`. */
export interface RowDetail extends RowShown {
  readonly table: string;
  readonly at: number;
  readonly cells: readonly WrittenCell[];
}

/** A cell with the time of its commit, and its writer as far as a process remembers it. */
export interface WrittenCell extends CellShown {
  readonly writtenAt: number;
  readonly writer: Writer | undefined;
}

export interface RowShown {
  readonly row: string;
  readonly cells: readonly CellShown[];
  /** Whether the row has more cells, which were not read: cells whose columns come later in byte order. */
  readonly isCut: boolean;
}

export interface CellShown {
  /** `name` or `name:qualifier`. */
  readonly column: string;
  readonly value: ValueShown;
  /**
   * When the cell expires, if it does. After that, the next sweep deletes it. Only for rows as they
   * are now.
   */
  readonly expiresAt?: number;
}
