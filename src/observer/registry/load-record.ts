import { StoreDamagedError } from "../../errors/index.js";
import { type CellAddress, loadRowPrefix, type RowRange, systemCell } from "../../transaction/index.js";
import {
  decodeJson,
  encodeJson,
  type Guard,
  isBoolean,
  isString,
  isWhole,
  listOf,
  oneOf,
  optional,
  record,
} from "../stored-json.js";
import type { RegistryCell } from "./cells.js";

/** The state of a bulk load. Published loads stay in the registry, because their cells name them. */
export type LoadState = "loading" | "discarding" | "published";

/** A bulk load in the registry. */
export interface LoadRecord {
  /** Identifies the load. It is the start timestamp in the write records of its cells. */
  readonly start: number;
  readonly name: string;
  readonly ranges: readonly RowRange[];
  readonly state: LoadState;
  /** Commit timestamp of the publication. Undefined before the publication. */
  readonly publishedAt: number | undefined;
}

/** The cell with a load's name and ranges. It never changes. */
export function loadDefinitionCell(start: number): CellAddress {
  return systemCell(`${loadRowPrefix}${start}`, "definition");
}

/** The rows with the positions and owners of loads. They are not part of the registry. */
export const loadRowsPrefix = "load/";

/** The cell that says how far a load has come. */
export function loadProgressCell(start: number): CellAddress {
  return systemCell(`${loadRowsPrefix}${start}`, "progress");
}

/**
 * The cell that says which call runs a load. It is written only when the owner changes, so that its
 * timestamp can guard batches.
 */
export function loadOwnerCell(start: number): CellAddress {
  return systemCell(`${loadRowsPrefix}${start}`, "owner");
}

interface StoredRange {
  readonly table: string;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

interface StoredDefinition {
  readonly name: string;
  readonly ranges: readonly StoredRange[];
}

const isDefinition = record<StoredDefinition>({
  name: isString,
  ranges: listOf(
    record<StoredRange>({ table: isString, start: optional(isString), end: optional(isString) }),
  ),
});
const isState: Guard<LoadState> = oneOf("loading", "discarding", "published");

export function encodeLoadDefinition(name: string, ranges: readonly RowRange[]): Buffer {
  const stored: StoredDefinition = {
    name,
    ranges: ranges.map(({ table, start, end }) => ({ table, start: toHex(start), end: toHex(end) })),
  };
  return encodeJson(stored);
}

export function encodeLoadState(state: LoadState): Buffer {
  return Buffer.from(JSON.stringify(state));
}

/** Builds the record from the cells of a load's row. Undefined if the load was discarded. */
export function loadRecord(name: string, cells: readonly RegistryCell[]): LoadRecord | undefined {
  const what = `The registry's record of bulk load ${name}`;
  const of = (column: string) => cells.find((cell) => Buffer.from(cell.column).toString() === column);
  const definition = of("definition")?.value;
  const state = of("state");
  if (definition === undefined && state?.value === undefined) return undefined;
  const start = Number(name);
  if (definition === undefined || state?.value === undefined || !isWhole(start)) {
    throw new StoreDamagedError(`${what} is incomplete. Run \`percolator check\`.`);
  }
  const decoded = decodeJson(definition, what, isDefinition);
  const stands = decodeJson(state.value, what, isState);
  return {
    start,
    name: decoded.name,
    ranges: decoded.ranges.map((range) => ({
      table: range.table,
      start: fromHex(range.start),
      end: fromHex(range.end),
    })),
    state: stands,
    publishedAt: stands === "published" ? state.commit : undefined,
  };
}

/** The part of a load that is durable, and what a continuation needs to know. */
export interface LoadProgress {
  /** The timestamp of all cells of the load. */
  readonly at: number;
  /** The observers whose acknowledgments the load writes. */
  readonly observers: readonly LoadObserver[];
  /** Index of the part that is being loaded. All parts before it are durable. */
  readonly part: number;
  /** The last durable row of the part. Undefined if none is. */
  readonly row: Buffer | undefined;
  readonly rows: number;
  readonly cells: number;
  /** Rises with each write, so that another process sees that the load is alive. */
  readonly beat: number;
  /** Whether a row of the part came out of order after others were stored: rows before these may be missing. */
  readonly isOutOfOrder?: boolean | undefined;
}

export interface LoadObserver {
  readonly name: string;
  readonly version: number;
}

interface StoredProgress extends Omit<LoadProgress, "row"> {
  readonly row?: string | undefined;
}

const isProgress = record<StoredProgress>({
  at: isWhole,
  observers: listOf(record<LoadObserver>({ name: isString, version: isWhole })),
  part: isWhole,
  row: optional(isString),
  rows: isWhole,
  cells: isWhole,
  beat: isWhole,
  isOutOfOrder: optional(isBoolean),
});

export function encodeProgress(progress: LoadProgress): Buffer {
  return encodeJson({ ...progress, row: toHex(progress.row) });
}

export function decodeProgress(bytes: Uint8Array): LoadProgress {
  const stored = decodeJson(bytes, "The progress of a bulk load", isProgress);
  return { ...stored, row: fromHex(stored.row) };
}

/** The owner of a load: a process, and a number that tells its calls apart. */
export interface LoadOwner {
  readonly process: string;
  readonly token: string;
}

const isOwner = record<LoadOwner>({ process: isString, token: isString });

export function decodeOwner(bytes: Uint8Array): LoadOwner {
  return decodeJson(bytes, "The owner of a bulk load", isOwner);
}

function toHex(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("hex");
}

function fromHex(text: string | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text, "hex");
}
