import { StoreDamagedError } from "../errors/index.js";
import type { ColumnKind } from "../schema/index.js";
import { type CellAddress, systemCell } from "../transaction/index.js";

/*
 * The registry stands in the system table: a row for each table and each observer, and the generation, whose newest
 * commit timestamp says how new the registry is.
 */

export const registryRows = { start: Buffer.from("registry/"), end: Buffer.from("registry0") };

/** Rises with each change of the registry; its value is empty. */
export const generationCell = systemCell("registry/generation", "at");

const tableRow = "registry/table/";
const observerRow = "registry/observer/";
const forgottenRow = "registry/forgotten/";

export const tableCell = (table: string): CellAddress => systemCell(`${tableRow}${table}`, "definition");

/** What an observer watches; never changed while it is registered. */
export const observerCell = (name: string): CellAddress => systemCell(`${observerRow}${name}`, "definition");
export const versionCell = (name: string): CellAddress => systemCell(`${observerRow}${name}`, "version");
export const backfillCell = (name: string): CellAddress => systemCell(`${observerRow}${name}`, "backfill");

/** An observer that was unregistered, and whose records are not all removed yet. */
export const forgottenCell = (name: string): CellAddress => systemCell(`${forgottenRow}${name}`, "state");

/** What a row of the registry is about. */
export function parseRegistryRow(
  row: Uint8Array,
): { readonly kind: "table" | "observer" | "forgotten"; readonly name: string } | undefined {
  const text = Buffer.from(row).toString("utf8");
  if (text.startsWith(tableRow)) return { kind: "table", name: text.slice(tableRow.length) };
  if (text.startsWith(observerRow)) return { kind: "observer", name: text.slice(observerRow.length) };
  if (text.startsWith(forgottenRow)) return { kind: "forgotten", name: text.slice(forgottenRow.length) };
  return undefined;
}

export interface StoredObserver {
  readonly table: string;
  readonly column: string;
  readonly kind: ColumnKind;
}

export interface StoredVersion {
  readonly version: number;
  readonly recordedAt: number;
}

/** An unregistered observer's leftovers: what it watched, and up to which timestamp its records are to go. */
export interface StoredForgotten extends StoredObserver {
  readonly upTo: number;
}

export function encodeJson(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function decodeJson<T>(bytes: Uint8Array, where: string): T {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as T;
  } catch (cause) {
    throw new StoreDamagedError(`The registry's record of ${where} cannot be read; run \`check\`.`, {
      cause,
    });
  }
}
