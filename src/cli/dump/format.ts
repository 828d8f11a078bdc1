import { createHash } from "node:crypto";
import { ExportDamagedError } from "../../errors/index.js";
import type { Json, TableDescription } from "../../schema/index.js";

/*
 * An export is lines of JSON (docs/export-format.md): blocks of lines, each ended by a line with its checksum, and a last line
 * that says that nothing is missing. The first block holds the header alone.
 */

export const formatName = "percolatordb-export";
export const formatVersion = 1;

/** A block is ended at so many characters, or so many cells: what an import commits in one transaction. */
export const blockCharacters = 1_048_576;
export const blockCells = 2_000;
/** A value of the largest size as JSON escapes it, and room for the rest of its block. */
export const maxBlockBytes = 96 * 1024 * 1024;

export interface ExportHeader {
  readonly format: typeof formatName;
  readonly version: number;
  /** Of the snapshot. */
  readonly timestamp: number;
  /** The same as a date. */
  readonly time: string;
  /** The store that was read, as it describes itself. */
  readonly source: string;
  readonly tables: readonly TableDescription[];
  /** What observers were due on, or had given up on. Files of older versions have none. */
  readonly due?: readonly DueLine[] | undefined;
}

/** An observer that is due on a cell. */
export interface DueLine {
  readonly observer: string;
  readonly table: string;
  /** As commands take it. */
  readonly row: string;
  /** The column's, the family's or the signal's name. */
  readonly column: string;
  readonly qualifier?: string | undefined;
}

/** Column and value; family, qualifier and value; or a value that its codec cannot carry, as base64. */
export type CellLine =
  | readonly [column: string, value: Json]
  | readonly [family: string, qualifier: string, value: Json]
  | { readonly column: string; readonly qualifier?: string | undefined; readonly raw: string };

/** A row, or as much of a wide one as goes into a line. */
export interface RowLine {
  readonly table: string;
  /** As commands take it. */
  readonly row: string;
  readonly cells: readonly CellLine[];
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
  /** The last block's, whose chain covers all. */
  readonly sha256: string;
}

/** Checksum of a block: of the checksum before it, so that none can be missing or in another place, and its lines. */
export function blockSum(previous: string, lines: Iterable<Uint8Array>): string {
  const hash = createHash("sha256").update(previous);
  for (const line of lines) hash.update(line);
  return hash.digest("hex");
}

/** Checks a header as the first line has it. */
export function parseHeader(line: string): ExportHeader {
  const header = parseLine(line) as Partial<ExportHeader> | undefined;
  if (header?.format !== formatName) {
    throw new ExportDamagedError("This is no export of percolatordb: the first line is not its header.");
  }
  if (header.version !== formatVersion) {
    throw new ExportDamagedError(
      `The export has version ${String(header.version)} of the format; this package reads version ${formatVersion}. Upgrade it.`,
    );
  }
  if (!Number.isSafeInteger(header.timestamp) || !Array.isArray(header.tables) || !isDue(header.due)) {
    throw new ExportDamagedError("The header of the export, in its first line, is damaged.");
  }
  return header as ExportHeader;
}

function isDue(due: unknown): boolean {
  if (due === undefined) return true;
  const names = ["observer", "table", "row", "column"];
  return Array.isArray(due) && due.every((line) => names.every((name) => typeof line?.[name] === "string"));
}

/** The document of a line; undefined where it is none. */
export function parseLine(line: string): unknown {
  try {
    const held: unknown = JSON.parse(line);
    return typeof held === "object" && held !== null ? held : undefined;
  } catch {
    return undefined;
  }
}
