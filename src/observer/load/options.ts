import { InvalidArgumentError } from "../../errors/index.js";
import {
  type AnyTable,
  definition,
  describeValue,
  encodeRow,
  isTable,
  type KeyOf,
  type RowOf,
} from "../../schema/index.js";
import { overlap, type RowRange, refuseSource } from "../../transaction/index.js";

/**
 * A row of a bulk load, in the form in which `tx.scan(table)` returns rows. Columns and families may
 * be missing. A row without values is left out.
 */
export interface LoadRow<T extends AnyTable> {
  readonly row: KeyOf<T>;
  readonly value: Partial<RowOf<T>>;
}

/** Rows in ascending key order, each key once. */
export type LoadRows<T extends AnyTable> = Iterable<LoadRow<T>> | AsyncIterable<LoadRow<T>>;

/** The range of a part of a bulk load. */
export interface LoadRange<K> {
  /** First key, inclusive. Default: the table's first. */
  readonly start?: K | undefined;
  /** End of the range, exclusive. Default: the table's end. */
  readonly end?: K | undefined;
}

/** One part of a bulk load: a table, or a range of one. {@link loadPart} makes it. */
export interface LoadPart {
  readonly table: AnyTable;
  readonly range: LoadRange<unknown>;
  readonly rows: (after: unknown) => LoadRows<AnyTable>;
}

/**
 * Declares one part of a bulk load: a table or a range of it, and the rows to put there.
 *
 * `rows` is called once for each call of `db.load` that reaches the part. `after` is undefined at
 * first. If the call continues an interrupted load, `after` is the last row that is already stored,
 * and `rows` must return the rows after it. It must return the same rows in each call.
 *
 * @example
 * loadPart(documents, async function* (after) {
 *   for await (const { url, html } of crawl.sortedByUrl({ after })) yield { row: url, value: { contents: html } };
 * })
 */
export function loadPart<T extends AnyTable>(
  table: T,
  rows: (after: KeyOf<T> | undefined) => LoadRows<T>,
  range: LoadRange<KeyOf<T>> = {},
): LoadPart {
  if (!isTable(table)) {
    throw new InvalidArgumentError("`loadPart` takes a table that `table(name, columns)` returned.");
  }
  if (typeof rows !== "function") {
    throw new InvalidArgumentError(
      `\`loadPart\` takes a function that returns the rows of "${table[definition].name}", not ${describeValue(rows)}.`,
    );
  }
  return { table, range, rows: rows as LoadPart["rows"] };
}

/** Throws unless `parts` is what a call of `db.load` needs. */
export function checkParts(parts: readonly LoadPart[]): void {
  const isPart = (part: Partial<LoadPart> | undefined) =>
    isTable(part?.table) && typeof part?.rows === "function" && typeof part.range === "object";
  const isList = Array.isArray(parts) && parts.length > 0;
  if (isList && parts.every(isPart)) {
    for (const { table } of parts) refuseSource(table[definition]);
    return;
  }
  const wrong = isList
    ? `an array with ${describeValue(parts.find((part) => !isPart(part)))}`
    : describeValue(parts);
  throw new InvalidArgumentError(
    `\`db.load\` takes an array of parts that \`loadPart(table, rows)\` returned, not ${wrong}.`,
  );
}

/** Throws unless the rows of a part can be iterated. A string can, but is no rows. */
export function checkRows(table: string, rows: unknown): void {
  if (
    typeof rows === "object" &&
    rows !== null &&
    (Symbol.iterator in rows || Symbol.asyncIterator in rows)
  ) {
    return;
  }
  throw new InvalidArgumentError(
    `The function of \`loadPart\` for "${table}" must return an iterable or an async iterable of rows, not ${describeValue(rows)}.`,
  );
}

/** How far a bulk load has come. */
export interface LoadProgressReport {
  /** The table that is being loaded. */
  readonly table: string;
  /** Stored rows, including those of earlier calls that this one continues. */
  readonly rows: number;
  /** Stored cells, acknowledgments included. */
  readonly cells: number;
}

/** The options of `db.load`. All are optional. */
export interface LoadOptions {
  /**
   * Stops the load between two batches when it is aborted. A later call continues after the last
   * batch that was stored, as it does if the source throws.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called after each batch that was stored. */
  readonly onProgress?: ((progress: LoadProgressReport) => void) | undefined;
}

/** The options of `db.discardLoad`. All are optional. */
export interface DiscardLoadOptions {
  /** Stops between two batches when it is aborted. Another call continues. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a bulk load. */
export interface LoadReport {
  /** Rows of the whole load, over all calls. */
  readonly rows: number;
  /** Cells of the whole load, acknowledgments included. */
  readonly cells: number;
  /** False if an earlier call had already published the load. This call then changed nothing. */
  readonly published: boolean;
}

/** A bulk load that the database has recorded. */
export interface LoadInfo {
  readonly name: string;
  /**
   * `loading`: in progress, or interrupted. `discarding`: `db.discardLoad` was interrupted.
   * `published`: its rows are visible.
   */
  readonly state: "loading" | "discarding" | "published";
  /** The tables that it loads. */
  readonly tables: readonly string[];
  /** Stored rows and cells. 0 before the first were stored. */
  readonly rows: number;
  readonly cells: number;
  /** Timestamp from which its rows are visible. Undefined before the publication. */
  readonly publishedAt: number | undefined;
}

/** The ranges of the parts, as bytes. Throws if a range is empty or two of them overlap. */
export function rangesOf(parts: readonly LoadPart[]): readonly RowRange[] {
  const ranges = parts.map(({ table, range }) => {
    const defined = table[definition];
    const bound = (key: unknown) => (key === undefined ? undefined : Buffer.from(encodeRow(defined, key)));
    const bytes = { table: defined.name, start: bound(range.start), end: bound(range.end) };
    if (overlap(bytes, bytes)) return bytes;
    throw new InvalidArgumentError(
      `A part of \`db.load\` has an empty range of "${defined.name}": it begins at ${describeValue(range.start)} and ends ` +
        `before ${describeValue(range.end)}.`,
    );
  });
  for (const [index, range] of ranges.entries()) {
    if (!ranges.slice(0, index).some((earlier) => overlap(earlier, range))) continue;
    throw new InvalidArgumentError(
      `Two parts of \`db.load\` have rows of "${range.table}" in common. Give each row to one part.`,
    );
  }
  return ranges;
}
