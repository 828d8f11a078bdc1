import { InvalidValueError, PercolatorError } from "../../errors/index.js";
import {
  type AnyTable,
  type Column,
  checkCellKey,
  definition,
  describeColumn,
  describeRow,
  describeValue,
  encodeRow,
  encodeValue,
  type Family,
  type Json,
  keyPartTags,
  parseRowText,
  parseValue,
  qualifierBytes,
  valueFromJson,
  valueTag,
  valueToJson,
} from "../../schema/index.js";
import type { CellWriter, CellWriters } from "../database/cell-writer.js";
import type { OpenedDatabase } from "../database/open-database.js";
import { findTable, findTarget, noValues } from "../input/target.js";
import { counted } from "../print/layout.js";
import { UsageError } from "../usage-error.js";

/** Which columns of a file go where. */
export interface RowPlan {
  readonly table: string;
  /** The file's columns that make the row key, in the order of its parts. */
  readonly key: readonly string[];
  /** Targets of some of the file's columns: `COLUMN`, or `FAMILY:QUALIFIER`. Others have the same name. */
  readonly map: Readonly<Record<string, string>>;
  /** Columns of the file that are left out. */
  readonly skip: readonly string[];
}

/** A row to write, of one record. */
export interface ParsedRow {
  readonly line: number;
  readonly bytes: Buffer;
  readonly row: unknown;
  readonly cells: readonly { readonly writer: CellWriter; readonly value: unknown }[];
}

/** Says why a record cannot be imported. */
export class RefusedRecord extends Error {
  /** The file's column, if the cause is in one. */
  readonly column: string | undefined;

  constructor(message: string, column?: string) {
    super(message);
    this.column = column;
  }
}

/** Most targets and cells of families to remember. */
const maxKnown = 10_000;

type CellTarget =
  | { readonly kind: "column"; readonly writer: CellWriter }
  | { readonly kind: "family"; readonly family: Family<unknown, unknown> };

/** Makes rows of records, by the columns' codecs. */
export class RowMapping {
  readonly #opened: OpenedDatabase;
  readonly #writers: CellWriters;
  readonly #plan: RowPlan;
  readonly #table: AnyTable;
  /** The tags of the key's parts. Undefined for keys of text. */
  readonly #keyTags: readonly string[] | undefined;
  readonly #targets = new Map<string, CellTarget | undefined>();
  readonly #cells = new Map<string, CellWriter>();

  /**
   * @throws UsageError if the table is unknown, or the key has another number of parts.
   */
  constructor(opened: OpenedDatabase, writers: CellWriters, plan: RowPlan) {
    this.#opened = opened;
    this.#writers = writers;
    this.#plan = plan;
    this.#table = findTable(opened, plan.table);
    this.#keyTags = keyPartTags(this.#table[definition]);
    const parts = this.#keyTags?.length ?? 1;
    if (plan.key.length !== parts) {
      const wants = this.#keyTags === undefined ? "text" : `(${this.#keyTags.join(", ")})`;
      throw new UsageError(
        `The key of table ${plan.table} is ${wants}, so --key takes ${parts === 1 ? "one column" : `${parts} columns, separated by commas`}, not ${plan.key.length}.`,
        "SCHEMA",
      );
    }
    for (const name of Object.keys(plan.map)) this.#targetOf(name);
  }

  /**
   * Checks the names of all columns of a CSV file.
   *
   * @throws UsageError for a missing or an unknown column.
   */
  checkHeader(header: readonly (string | undefined)[]): readonly string[] {
    const names = header.map((name, index) => {
      if (name !== undefined && name !== "") return name;
      throw new UsageError(`Column ${index + 1} of the header has no name.`, "SCHEMA");
    });
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined)
      throw new UsageError(`The header names ${JSON.stringify(twice)} twice.`, "SCHEMA");
    const { key, map, skip } = this.#plan;
    const missing = [...key, ...Object.keys(map), ...skip].find((name) => !names.includes(name));
    if (missing !== undefined) {
      throw new UsageError(
        `The file has no column ${JSON.stringify(missing)}; its header has ${names.join(", ")}.`,
        "SCHEMA",
      );
    }
    const targets = names.map((name) => this.#targetOf(name)).filter((target) => target !== undefined);
    if (targets.length === 0) {
      throw new UsageError("Apart from the key, no column of the file would be imported.", "SCHEMA");
    }
    const columns = targets.flatMap((target) => (target.kind === "column" ? [target.writer.column] : []));
    const repeated = findRepeated(columns);
    if (repeated !== undefined) {
      throw new UsageError(
        `Two columns of the file are for ${describeColumn(repeated)}. Leave one of them out with --skip, or give it another column with --map.`,
        "SCHEMA",
      );
    }
    return names;
  }

  /** The row of a CSV record. Throws a {@link RefusedRecord} if a value does not fit. */
  ofFields(
    header: readonly string[],
    fields: readonly (string | undefined)[],
  ): Pick<ParsedRow, "row" | "cells"> {
    if (fields.length !== header.length) {
      throw new RefusedRecord(
        `it has ${counted(fields.length, "field")}, but the header has ${header.length}`,
      );
    }
    const { key } = this.#plan;
    const row = this.#row(key.map((name, part) => this.#keyField(name, part, fields[header.indexOf(name)])));
    const cells: { writer: CellWriter; value: unknown }[] = [];
    for (const [index, name] of header.entries()) {
      const text = fields[index];
      const target = this.#targetOf(name);
      if (text === undefined || target === undefined) continue;
      if (target.kind === "family") throw familyNeedsObject(name, target.family);
      cells.push(this.#cell(name, row, target.writer, (column) => valueOfText(column, text), text));
    }
    return { row, cells };
  }

  /** The row of a JSON object. Throws a {@link RefusedRecord} if a value does not fit. */
  ofObject(object: Readonly<Record<string, Json>>): Pick<ParsedRow, "row" | "cells"> {
    const row = this.#row(this.#plan.key.map((name) => this.#keyValue(name, object[name])));
    const cells: { writer: CellWriter; value: unknown }[] = [];
    for (const [name, json] of Object.entries(object)) {
      const target = this.#objectTarget(name);
      if (target === undefined) continue;
      if (target.kind === "column") {
        if (!isAbsent(target.writer.column, json)) cells.push(this.#jsonCell(name, row, target.writer, json));
        continue;
      }
      if (typeof json !== "object" || json === null || Array.isArray(json)) {
        throw familyNeedsObject(name, target.family);
      }
      for (const [qualifier, value] of Object.entries(json)) {
        const writer = this.#familyWriter(name, target.family, qualifier);
        if (!isAbsent(writer.column, value)) cells.push(this.#jsonCell(name, row, writer, value));
      }
    }
    const repeated = findRepeated(cells.map(({ writer }) => writer.column));
    if (repeated !== undefined) throw new RefusedRecord(`it has two values for ${describeColumn(repeated)}`);
    return { row, cells };
  }

  #jsonCell(name: string, row: unknown, writer: CellWriter, json: Json) {
    return this.#cell(name, row, writer, (column) => valueOfJson(column, json), json);
  }

  /** Unknown names are refused line by line, because the lines of a file may differ. */
  #objectTarget(name: string): CellTarget | undefined {
    try {
      return this.#targetOf(name);
    } catch (error) {
      if (error instanceof UnknownColumn) throw new RefusedRecord(error.message, name);
      throw error;
    }
  }

  /** Undefined for a column that is left out, or is only part of the key. */
  #targetOf(name: string): CellTarget | undefined {
    if (this.#targets.has(name)) return this.#targets.get(name);
    const target = this.#findTarget(name);
    // Lines of JSON may name any number of a family's cells.
    if (this.#targets.size > maxKnown) this.#targets.clear();
    this.#targets.set(name, target);
    return target;
  }

  #findTarget(name: string): CellTarget | undefined {
    const { table, key, map, skip } = this.#plan;
    if (skip.includes(name)) return undefined;
    const mapped = Object.hasOwn(map, name) ? map[name]! : undefined;
    if (mapped === undefined && key.includes(name)) return undefined;
    const text = mapped ?? name;
    const defined = this.#table[definition];
    const [column = ""] = text.split(":", 1);
    if (!defined.columns.has(column)) {
      throw new UnknownColumn(
        `table ${table} has no column ${JSON.stringify(column)}; it has ${[...defined.columns.keys()].join(", ")}. To import it under another ` +
          `name, give --map ${JSON.stringify(`${name}=COLUMN`)}; to leave it out, --skip ${JSON.stringify(name)}`,
        "SCHEMA",
      );
    }
    const target = findTarget(this.#opened, `${table}.${text}`);
    if (target.kind === "signal") throw noValues(target.signal);
    if (target.kind === "family") return target;
    if (target.kind === "column") return { kind: "column", writer: this.#writers.forValues(target.column) };
    throw new UsageError(`Name a column of table ${table}.`, "SCHEMA");
  }

  #familyWriter(name: string, family: Family<unknown, unknown>, qualifier: string): CellWriter {
    const known = this.#cells.get(`${name}\0${qualifier}`);
    if (known !== undefined) return known;
    const writer = this.#writers.forValues(refusing(name, () => family.at(qualifier)));
    // A family may have any number of cells.
    if (this.#cells.size > maxKnown) this.#cells.clear();
    this.#cells.set(`${name}\0${qualifier}`, writer);
    return writer;
  }

  #cell(
    name: string,
    row: unknown,
    writer: CellWriter,
    read: (column: Column<unknown, unknown>) => unknown,
    given: unknown,
  ) {
    const { column } = writer;
    const value = refusing(
      name,
      () => read(column),
      () => `${describeColumn(column)} does not take ${describeValue(given)}`,
    );
    return refusing(name, () => {
      encodeValue(column, row, value);
      if (column.qualifier !== undefined) {
        const where = () => `${column.table.name}.${column.name}, row ${describeRow(row)}`;
        checkCellKey(encodeRow(column.table, row), qualifierBytes(column.path), where);
      }
      return { writer, value };
    });
  }

  #keyField(name: string, part: number, text: string | undefined): Json {
    if (text === undefined) throw new RefusedRecord("the key has no value", name);
    const tag = this.#keyTags?.[part] ?? "text";
    if (tag === "text" || tag === "bytes") return text;
    return refusing(name, () => valueToJson(parseValue(tag, text)));
  }

  #keyValue(name: string, json: Json | undefined): Json {
    if (json === undefined || json === null) throw new RefusedRecord("the key has no value", name);
    if (this.#keyTags === undefined && typeof json !== "string") {
      throw new RefusedRecord(`the key must be a string, not ${describeValue(json)}`, name);
    }
    return json;
  }

  #row(parts: readonly Json[]): unknown {
    const text = this.#keyTags === undefined ? (parts[0] as string) : JSON.stringify(parts);
    return refusing(this.#plan.key.join(","), () => parseRowText(this.#table[definition], text));
  }
}

/** A cell that occurs twice: of two values for it, one would replace the other. */
function findRepeated(columns: readonly Column<unknown, unknown>[]): Column<unknown, unknown> | undefined {
  const known = new Set<string>();
  return columns.find(({ name, qualifier }) => {
    const { size } = known;
    return known.add(`${name}\0${qualifier ?? ""}`).size === size;
  });
}

/** A column of the file that the table does not have. */
class UnknownColumn extends UsageError {}

function familyNeedsObject(name: string, family: Family<unknown, unknown>): RefusedRecord {
  return new RefusedRecord(
    `${family.table.name}.${family.name} is a family: name a cell, as ${family.name}:QUALIFIER, or give an object in JSON`,
    name,
  );
}

/** Whether JSON stands for no value. In a column of JSON, null is a value. */
function isAbsent(column: Column<unknown, unknown>, json: Json): boolean {
  return json === null && valueTag(column.codec.tag) !== "json";
}

function isCustom({ codec }: Column<unknown, unknown>): boolean {
  return valueTag(codec.tag) === "custom";
}

/** Values of custom codecs are given as their stored bytes, in base64, as an export has them. */
function decodeCustom({ codec }: Column<unknown, unknown>, base64: string): unknown {
  return codec.decode(parseValue("bytes", base64) as Uint8Array);
}

function valueOfText(column: Column<unknown, unknown>, text: string): unknown {
  return isCustom(column) ? decodeCustom(column, text) : parseValue(column.codec, text);
}

function valueOfJson(column: Column<unknown, unknown>, json: Json): unknown {
  if (!isCustom(column)) return valueFromJson(column.codec, json);
  if (typeof json !== "string") throw new InvalidValueError("a value of a custom codec must be base64 text");
  return decodeCustom(column, json);
}

/**
 * Whether an error says that a value or a key is wrong. Compares the code, since a codec or a constraint may come
 * from another copy of the package.
 */
export function isOfValue(error: unknown): error is Error {
  const code = error instanceof Error ? (error as Partial<PercolatorError>).code : undefined;
  return code === "INVALID_VALUE" || code === "INVALID_KEY";
}

/** Runs a check of a value, and turns what it throws into a {@link RefusedRecord}. */
function refusing<T>(name: string, check: () => T, what?: () => string): T {
  try {
    return check();
  } catch (error) {
    // A codec of the program may throw anything. A wrong command is no fault of the file.
    if (error instanceof PercolatorError && !isOfValue(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new RefusedRecord(what === undefined ? reason : `${what()}: ${reason}`, name);
  }
}
