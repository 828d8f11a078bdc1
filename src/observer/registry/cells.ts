import type { ColumnDescription, ColumnKind, ColumnName, TableDescription } from "../../schema/index.js";
import { type CellAddress, loadRowPrefix, systemCell } from "../../transaction/index.js";
import {
  decodeJson,
  type Guard,
  isString,
  isTime,
  isWhole,
  listOf,
  nullable,
  oneOf,
  optional,
  record,
} from "../stored-json.js";

/*
 * The registry is in the system table. Each table and each observer has a row. The generation has a
 * row as well. Each change of the registry writes that row, so the commit timestamp of its newest
 * version says when the registry last changed.
 */

export const registryRows = { start: Buffer.from("registry/"), end: Buffer.from("registry0") };

/** Each change of the registry writes it. Its value is empty. */
export const generationCell = systemCell("registry/generation", "at");

const tableRow = "registry/table/";
const observerRow = "registry/observer/";
const forgottenRow = "registry/forgotten/";
const feedRow = "registry/feed/";
const droppedRow = "registry/dropped/";
/** Stands for the whole table among the names of dropped columns. No column has this name. */
export const wholeTable = "*";

export const tableCell = (table: string): CellAddress => systemCell(`${tableRow}${table}`, "definition");

/** What an observer watches. It never changes while the observer is registered. */
export const observerCell = (name: string): CellAddress => systemCell(`${observerRow}${name}`, "definition");
export const versionCell = (name: string): CellAddress => systemCell(`${observerRow}${name}`, "version");

/** What a feed follows. It never changes while the feed is recorded. */
export const feedCell = (name: string): CellAddress => systemCell(`${feedRow}${name}`, "definition");
/** How long a feed keeps changes. */
export const feedRetentionCell = (name: string): CellAddress => systemCell(`${feedRow}${name}`, "retention");

/** A dropped column of a table, or the dropped table. */
export const droppedCell = (table: string, column: string): CellAddress =>
  systemCell(`${droppedRow}${table}`, column);

const backfillColumn = "backfill";

/**
 * The record of one backfill. An empty `id` gives the record of an earlier version of the package,
 * which kept one record for all ranges.
 */
export const backfillCell = (name: string, id: string): CellAddress =>
  systemCell(`${observerRow}${name}`, id === "" ? backfillColumn : `${backfillColumn}/${id}`);

/** The id of the backfill in a column of an observer's row. Undefined for other columns. */
export function parseBackfillColumn(column: string): string | undefined {
  if (column === backfillColumn) return "";
  return column.startsWith(`${backfillColumn}/`) ? column.slice(backfillColumn.length + 1) : undefined;
}

/** An unregistered observer whose records are not all removed yet. */
export const forgottenCell = (name: string): CellAddress => systemCell(`${forgottenRow}${name}`, "state");

/** A cell of the registry in a snapshot. */
export interface RegistryCell {
  readonly row: Uint8Array;
  readonly column: Uint8Array;
  /** Timestamp of the commit that wrote it. */
  readonly commit: number;
  /** Undefined if it was deleted. */
  readonly value: Uint8Array | undefined;
}

/** What a row of the registry describes. Undefined for any other row. */
export function parseRegistryRow(
  row: Uint8Array,
):
  | { readonly kind: "table" | "observer" | "forgotten" | "load" | "feed" | "dropped"; readonly name: string }
  | undefined {
  const text = Buffer.from(row).toString("utf8");
  if (text.startsWith(tableRow)) return { kind: "table", name: text.slice(tableRow.length) };
  if (text.startsWith(observerRow)) return { kind: "observer", name: text.slice(observerRow.length) };
  if (text.startsWith(loadRowPrefix)) return { kind: "load", name: text.slice(loadRowPrefix.length) };
  if (text.startsWith(feedRow)) return { kind: "feed", name: text.slice(feedRow.length) };
  if (text.startsWith(droppedRow)) return { kind: "dropped", name: text.slice(droppedRow.length) };
  if (text.startsWith(forgottenRow)) return { kind: "forgotten", name: text.slice(forgottenRow.length) };
  return undefined;
}

export interface StoredObserver {
  readonly table: string;
  readonly column: string;
  readonly kind: ColumnKind;
}

export interface StoredFeed {
  readonly columns: readonly StoredObserver[];
  /** What a leased feed follows, which has no columns: tables with all their columns. */
  readonly tables?: readonly string[] | undefined;
  /** The same: every column that an observer watches. */
  readonly observed?: true | undefined;
}

export interface StoredRetention {
  readonly retentionMs: number;
}

export interface StoredVersion {
  readonly version: number;
  readonly recordedAt: number;
}

/**
 * An unregistered observer: what it watched, and the timestamp up to which its records must be
 * removed.
 */
export interface StoredForgotten extends StoredObserver {
  readonly upTo: number;
}

/** What was dropped, and when. Until it is released, nobody writes there. */
export interface StoredDropped {
  /** Wall time, in milliseconds. */
  readonly droppedAt: number;
  /** The kind of the column. Null for a table. */
  readonly kind: ColumnKind | null;
}

const isKind: Guard<ColumnKind> = oneOf("column", "family", "signal");
/**
 * Accepts unknown kinds: a kind that only a newer version of the package knows is not damage. A
 * program that uses the table gets an error.
 */
const isAnyKind = isString as unknown as Guard<ColumnKind>;
const isTrue: Guard<true> = (value): value is true => value === true;
const isTableDescription = record<TableDescription>({
  name: isString,
  key: isString,
  columns: listOf(
    record<ColumnDescription>({
      name: isString,
      kind: isAnyKind,
      codec: nullable(isString),
      schema: optional(isTrue),
      version: optional(isWhole),
      ttlMs: optional(nullable(isWhole)),
    }),
  ),
  writtenWith: optional(
    record<ColumnName>({ table: isString, column: isString, qualifier: optional(isString) }),
  ),
  version: optional(isWhole),
  firstVersion: optional(isWhole),
});
const observerShape = { table: isString, column: isString, kind: isKind };
const isStoredObserver = record<StoredObserver>(observerShape);
const isStoredFeed = record<StoredFeed>({
  columns: listOf(isStoredObserver),
  tables: optional(listOf(isString)),
  observed: optional(isTrue),
});
const isStoredRetention = record<StoredRetention>({ retentionMs: isTime });
const isStoredVersion = record<StoredVersion>({ version: isWhole, recordedAt: isTime });
const isStoredDropped = record<StoredDropped>({ droppedAt: isTime, kind: nullable(isKind) });
const isStoredForgotten = record<StoredForgotten>({ ...observerShape, upTo: isWhole });

export function decodeTable(bytes: Uint8Array, table: string): TableDescription {
  const isIt = (value: unknown): value is TableDescription =>
    isTableDescription(value) && value.name === table;
  return decodeJson(bytes, recordOf(`table ${table}`), isIt);
}

export function decodeStoredObserver(bytes: Uint8Array, name: string): StoredObserver {
  return decodeJson(bytes, recordOf(`observer ${name}`), isStoredObserver);
}

export function decodeStoredVersion(bytes: Uint8Array, name: string): StoredVersion {
  return decodeJson(bytes, recordOf(`observer ${name}`), isStoredVersion);
}

export function decodeStoredFeed(bytes: Uint8Array, name: string): StoredFeed {
  return decodeJson(bytes, recordOf(`feed ${name}`), isStoredFeed);
}

export function decodeFeedRetention(bytes: Uint8Array, name: string): StoredRetention {
  return decodeJson(bytes, recordOf(`feed ${name}`), isStoredRetention);
}

export function decodeForgotten(bytes: Uint8Array, name: string): StoredForgotten {
  return decodeJson(bytes, recordOf(`observer ${name}`), isStoredForgotten);
}

export function decodeDropped(bytes: Uint8Array, what: string): StoredDropped {
  return decodeJson(bytes, recordOf(`dropped ${what}`), isStoredDropped);
}

function recordOf(what: string): string {
  return `The registry's record of ${what}`;
}
