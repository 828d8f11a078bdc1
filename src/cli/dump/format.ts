import { createHash } from "node:crypto";
import { ExportDamagedError } from "../../errors/index.js";
import type { Json, TableDescription } from "../../schema/index.js";

/*
 * The format of an export (docs/export-format.md): lines of JSON in blocks. Each block ends with a
 * line that holds its checksum, and the last line proves that the file is complete. The first block
 * holds only the header.
 */

export const formatName = "percolatordb-export";
const formatVersion = 1;
/** The version of exports with cells that say the version of their value. */
const versionedFormat = 2;

/** The version of the format that the cells of these tables need. */
export function formatVersionOf(tables: readonly TableDescription[]): number {
  const isVersioned = tables.some(({ columns }) => columns.some(({ version }) => version !== undefined));
  return isVersioned ? versionedFormat : formatVersion;
}

/**
 * An export ends a block after this many characters, or after `blockCells` cells. An import commits
 * each block in one transaction, so a block must fit into a transaction.
 */
export const blockCharacters = 1_048_576;
export const blockCells = 2_000;
/**
 * Maximum bytes of a block. Even if a value has the largest size, and JSON escapes each of its
 * bytes, the value and the rest of its block fit.
 */
export const maxBlockBytes = 96 * 1024 * 1024;

export interface ExportHeader {
  readonly format: typeof formatName;
  readonly version: number;
  /** Timestamp of the snapshot. */
  readonly timestamp: number;
  /** The same moment as an ISO date. */
  readonly time: string;
  /** The exported store, as it describes itself. */
  readonly source: string;
  readonly tables: readonly TableDescription[];
  /** The observers of columns of the tables. Files of earlier versions have none. */
  readonly observers?: readonly ObserverLine[] | undefined;
  /** Changes that were due or parked. Files of older versions have none. */
  readonly due?: readonly DueLine[] | undefined;
}

/** A registered observer of a column or family. */
export interface ObserverLine {
  readonly observer: string;
  readonly version: number;
  readonly table: string;
  readonly column: string;
}

/** An observer that is due on a cell. */
export interface DueLine {
  readonly observer: string;
  readonly table: string;
  /** The row key, in the form that commands accept. */
  readonly row: string;
  /** The name of the column, the family or the signal. */
  readonly column: string;
  readonly qualifier?: string | undefined;
}

/**
 * A cell: column and value, or family, qualifier and value. A JSON value of a version above 1 says its
 * version. If the codec's JSON cannot carry the value, the entry holds the stored bytes as base64
 * instead.
 */
export type CellLine =
  | readonly [column: string, value: Json]
  | readonly [family: string, qualifier: string, value: Json]
  | {
      readonly column: string;
      readonly qualifier?: string | undefined;
      readonly version: number;
      readonly value: Json;
    }
  | { readonly column: string; readonly qualifier?: string | undefined; readonly raw: string };

/** An observer, its version, and a cell of the row that it has handled: column, or family and qualifier. */
export type HandledLine =
  | readonly [observer: string, version: number, column: string]
  | readonly [observer: string, version: number, family: string, qualifier: string];

/** A row, or the part of a wide row that fits on one line. */
export interface RowLine {
  readonly table: string;
  /** The row key, in the form that commands accept. */
  readonly row: string;
  /** Empty if the line has `handled`, which comes after the lines of the row's cells. */
  readonly cells: readonly CellLine[];
  readonly handled?: readonly HandledLine[] | undefined;
}

export interface BlockLine {
  readonly block: number;
  readonly lines: number;
  readonly cells: number;
  readonly sha256: string;
}

export interface EndLine {
  readonly end: true;
  readonly blocks: number;
  readonly cells: number;
  /**
   * Checksum of the last block. Each checksum covers the one before it, so this one covers the
   * whole file.
   */
  readonly sha256: string;
}

/**
 * Returns the checksum of a block. It covers the previous checksum and the block's lines, so no
 * block can be missing or out of order.
 */
export function blockSum(previous: string, lines: Iterable<Uint8Array>): string {
  const hash = createHash("sha256").update(previous);
  for (const line of lines) hash.update(line);
  return hash.digest("hex");
}

/** Parses the first line of an export and checks it. */
export function parseHeader(line: string): ExportHeader {
  const header = parseLine(line) as Partial<ExportHeader> | undefined;
  if (header?.format !== formatName) {
    throw new ExportDamagedError(
      "This is not an export of percolatordb: the first line is not a header. Give what `percolator export` wrote.",
    );
  }
  if (header.version !== formatVersion && header.version !== versionedFormat) {
    throw new ExportDamagedError(
      `The export has version ${String(header.version)} of the format; this package reads only versions ${formatVersion} and ${versionedFormat}. Upgrade the package.`,
    );
  }
  if (
    !Number.isSafeInteger(header.timestamp) ||
    !Array.isArray(header.tables) ||
    !isDue(header.due) ||
    !areObservers(header.observers)
  ) {
    throw new ExportDamagedError("The first line of the export, its header, is damaged. Export again.");
  }
  return header as ExportHeader;
}

function isDue(due: unknown): boolean {
  if (due === undefined) return true;
  const names = ["observer", "table", "row", "column"];
  return Array.isArray(due) && due.every((line) => names.every((name) => typeof line?.[name] === "string"));
}

function areObservers(observers: unknown): boolean {
  if (observers === undefined) return true;
  const names = ["observer", "table", "column"];
  return (
    Array.isArray(observers) &&
    observers.every(
      (line) => Number.isSafeInteger(line?.version) && names.every((name) => typeof line[name] === "string"),
    )
  );
}

/** Parses a line as JSON. Returns undefined if it is not JSON. */
export function parseLine(line: string): unknown {
  try {
    const held: unknown = JSON.parse(line);
    return typeof held === "object" && held !== null ? held : undefined;
  } catch {
    return undefined;
  }
}
