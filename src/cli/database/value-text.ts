import { InvalidValueError } from "../../errors/index.js";
import {
  type AnyTable,
  type Column,
  definition,
  describeColumn,
  encodeValue,
  formatValue,
  type Json,
  parseValue,
  valueErrorAt,
  valueTag,
  valueToJson,
} from "../../schema/index.js";
import type { Cli } from "../cli.js";
import { asUsage } from "../usage-error.js";
import type { OpenedDatabase } from "./open-database.js";

/**
 * Parses the user's text as a value of the column. Throws a `UsageError` if the column's codec
 * refuses it.
 */
export function parseCellValue(column: Column<unknown, unknown>, row: unknown, text: string): unknown {
  return asUsage(() => {
    const value = attempt(column, row, () => parseValue(column.codec, text));
    encodeValue(column, row, value);
    return value;
  });
}

/**
 * Parses bytes from the standard input as {@link parseCellValue} does. For bytes and text columns
 * it keeps the input unchanged. For other columns it removes surrounding white space.
 */
export function parseCellInput(column: Column<unknown, unknown>, row: unknown, input: Uint8Array): unknown {
  const tag = valueTag(column.codec.tag);
  if (tag === "bytes") {
    return asUsage(() => {
      encodeValue(column, row, input);
      return input;
    });
  }
  const text = asUsage(() => attempt(column, row, () => decodeText(input)));
  return parseCellValue(column, row, tag === "text" ? text : text.trim());
}

function attempt<T>(column: Column<unknown, unknown>, row: unknown, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw valueErrorAt(column, row, error);
  }
}

function decodeText(input: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input);
  } catch (cause) {
    throw new InvalidValueError("the input is not UTF-8", { cause });
  }
}

/** A cell of a row, with its name in the form that commands accept. */
export interface NamedValue {
  readonly name: string;
  readonly text: string;
}

/** Returns a row's cells in the order of the table's columns. */
export function rowCells(table: AnyTable, row: object): readonly NamedValue[] {
  const cells: NamedValue[] = [];
  for (const { name, property, codec } of table[definition].columns.values()) {
    const value: unknown = Reflect.get(row, property);
    if (codec === undefined || value === undefined) continue;
    if (!(value instanceof Map)) cells.push({ name, text: formatValue(codec, value) });
    else for (const cell of familyCells(name, codec, value)) cells.push(cell);
  }
  return cells;
}

/** Returns a family's cells in the order of their qualifiers. */
export function familyCells(
  name: string,
  codec: Column<unknown>["codec"],
  values: ReadonlyMap<string, unknown>,
): readonly NamedValue[] {
  return [...values].map(([qualifier, value]) => ({
    name: `${name}:${qualifier}`,
    text: formatValue(codec, value),
  }));
}

/** Converts a row to JSON: columns by name, families as objects by qualifier. */
export function rowToJson(table: AnyTable, row: object): Readonly<Record<string, Json>> {
  const entries: [string, Json][] = [];
  for (const { name, property } of table[definition].columns.values()) {
    const value: unknown = Reflect.get(row, property);
    if (value === undefined) continue;
    entries.push([name, value instanceof Map ? familyToJson(value) : valueToJson(value)]);
  }
  return Object.fromEntries(entries);
}

/** Converts a family to JSON, by qualifier. */
export function familyToJson(values: ReadonlyMap<string, unknown>): Readonly<Record<string, Json>> {
  return Object.fromEntries([...values].map(([qualifier, value]) => [qualifier, valueToJson(value)]));
}

/** Prints a note if values of a custom codec will be shown as their stored bytes. */
export async function noteCustomCodecs(
  cli: Cli,
  { app }: OpenedDatabase,
  table: Column<unknown>["table"],
  only?: string,
): Promise<void> {
  if (app?.tables.some((declared) => declared[definition] === table) === true) return;
  const custom = [...table.columns.values()]
    .filter(
      ({ name, codec }) => valueTag(codec?.tag ?? "") === "custom" && (only === undefined || only === name),
    )
    .map(({ name }) => describeColumn({ table, name }));
  if (custom.length === 0) return;
  await cli.note(
    `Values of ${custom.join(", ")} are shown as base64, because the codec is custom. To decode them, give the module with --app.`,
  );
}
