import { InvalidKeyError, InvalidValueError } from "../../errors/index.js";
import {
  type AnyTable,
  bindColumn,
  type Column,
  checkCellKey,
  definition,
  describeRow,
  describeValue,
  encodeRow,
  encodeValue,
  type Family,
  qualifierBytes,
  type TableDefinition,
} from "../../schema/index.js";
import { compareBytes } from "../../store/index.js";
import { encodeWrite, type RowRange } from "../../transaction/index.js";
import { encodeAcknowledgment } from "../hint/acknowledgment.js";
import type { LoadProgress } from "../registry/load-record.js";
import type { RegisteredObserver } from "../registry/registered.js";

/** A cell of a load. */
export interface LoadedCell {
  readonly column: Uint8Array;
  /** The beginning of its write record. The value follows, in the record or in a data cell. */
  readonly head: Uint8Array;
  readonly value: Uint8Array;
  /** Whether the value is in the record. */
  readonly isInline: boolean;
}

/** Receives the cells of one row, in column order. The array is valid only during the call. */
export type TakeRow = (row: Uint8Array, cells: readonly LoadedCell[]) => void;

/** A strong observer of a table, with its acknowledgment of every loaded cell. */
export interface Acknowledging {
  readonly observer: RegisteredObserver;
  readonly acknowledgment: Buffer;
}

/**
 * The acknowledgment that a load writes for an observer. It says that the observer has dealt with
 * the loaded value, so no loaded cell is due.
 */
export function acknowledging(
  observer: RegisteredObserver,
  version: number,
  { at }: Pick<LoadProgress, "at">,
): Acknowledging {
  return { observer, acknowledgment: encodeAcknowledgment({ start: at, version, chain: 0 }) };
}

function writeHead(start: number, isInline: boolean): Buffer {
  const value = isInline ? noBytes : undefined;
  return encodeWrite({ start, kind: "put", onePhase: false, loaded: true, value });
}

type Plan =
  | {
      readonly kind: "column";
      readonly column: Column<unknown, unknown>;
      readonly acknowledgments: readonly LoadedCell[];
    }
  | { readonly kind: "family"; readonly family: Family<unknown, unknown> };

const noBytes = new Uint8Array(0);

/**
 * Encodes the rows of one part of a load, and checks them: their order, their range, their columns
 * and values.
 */
export class RowEncoder {
  readonly #table: TableDefinition;
  readonly #range: RowRange;
  /** The beginnings of write records with a value, and with the value in a data cell. */
  readonly #inlineHead: Buffer;
  readonly #outerHead: Buffer;
  readonly #inlineBytes: number;
  readonly #observers: readonly Acknowledging[];
  readonly #plans = new Map<string, Plan>();
  #last: Uint8Array | undefined;
  #lastKey: unknown;
  #isOutOfOrder = false;
  /** The cells of the row that is being encoded. */
  readonly #cells: LoadedCell[] = [];

  constructor(
    table: AnyTable,
    range: RowRange,
    start: number,
    inlineBytes: number,
    observers: readonly Acknowledging[],
    last: Uint8Array | undefined,
  ) {
    this.#table = table[definition];
    this.#range = range;
    this.#inlineHead = writeHead(start, true);
    this.#outerHead = writeHead(start, false);
    this.#inlineBytes = inlineBytes;
    this.#observers = observers;
    this.#last = last;
    this.#lastKey = last === undefined ? undefined : this.#table.key.decode(last);
    for (const { name, property } of this.#table.columns.values()) {
      const column = bindColumn(this.#table, name)!;
      if (column.kind === "column") {
        this.#plans.set(property, {
          kind: "column",
          column,
          acknowledgments: this.#acknowledgments(column.path),
        });
      } else if (column.kind === "family") this.#plans.set(property, { kind: "family", family: column });
    }
  }

  /** Whether a row was refused because it came after a later one. */
  get isOutOfOrder(): boolean {
    return this.#isOutOfOrder;
  }

  /** Calls `take` with the row, unless the row has no values. */
  encode(given: { readonly row: unknown; readonly value: object }, take: TakeRow): void {
    if (typeof given !== "object" || given === null) {
      throw new InvalidValueError(
        `A bulk load takes the rows of "${this.#table.name}" as \`{ row, value }\`, not ${describeValue(given)}.`,
      );
    }
    const { row: key, value } = given;
    const row = encodeRow(this.#table, key);
    this.#checkOrder(key, row);
    if (typeof value !== "object" || value === null) {
      throw new InvalidValueError(
        `Row ${describeRow(key)} of "${this.#table.name}" in a bulk load: \`value\` must be an object of columns, not ${describeValue(value)}.`,
      );
    }
    const cells = this.#cells;
    cells.length = 0;
    for (const name in value) this.#column(key, row, name, (value as Record<string, unknown>)[name]);
    if (cells.length === 0) return;
    sort(cells);
    take(row, cells);
  }

  #checkOrder(key: unknown, row: Uint8Array): void {
    if (this.#last !== undefined && compareBytes(row, this.#last) <= 0) {
      this.#isOutOfOrder = true;
      throw new InvalidKeyError(
        `A bulk load takes the rows of "${this.#table.name}" in ascending key order, each once, but row ${describeRow(key)} came ` +
          `after row ${describeRow(this.#lastKey)}. Sort the rows by the bytes of their keys, call \`db.discardLoad\`, and load again.`,
      );
    }
    const { start, end } = this.#range;
    const isBefore = start !== undefined && compareBytes(row, start) < 0;
    if (isBefore || (end !== undefined && compareBytes(row, end) >= 0)) {
      throw new InvalidKeyError(
        `Row ${describeRow(key)} of "${this.#table.name}" is outside the range of its part of the bulk load.`,
      );
    }
    this.#last = row;
    this.#lastKey = key;
  }

  #column(key: unknown, row: Uint8Array, name: string, value: unknown): void {
    if (value === undefined) return;
    const plan = this.#plans.get(name);
    if (plan === undefined) {
      const isSignal = [...this.#table.columns.values()].some(({ property }) => property === name);
      throw new InvalidValueError(
        `Row ${describeRow(key)} of "${this.#table.name}" in a bulk load has a value for ` +
          `${isSignal ? `the signal "${name}", which holds no values` : `"${name}", which is no column of the table`}.`,
      );
    }
    if (plan.kind === "column") {
      this.#cell(key, row, plan.column, value);
      for (const acknowledgment of plan.acknowledgments) this.#cells.push(acknowledgment);
      return;
    }
    for (const [qualifier, each] of entriesOf(this.#table, key, name, value)) {
      const column = plan.family.at(qualifier);
      this.#cell(key, row, column, each);
      for (const acknowledgment of this.#acknowledgments(column.path)) this.#cells.push(acknowledgment);
    }
  }

  #cell(key: unknown, row: Uint8Array, column: Column<unknown, unknown>, given: unknown): void {
    checkCellKey(
      row,
      qualifierBytes(column.path),
      () => `${this.#table.name}.${column.name}, row ${describeRow(key)}`,
    );
    const value = encodeValue(column, key, given);
    const isInline = value.length <= this.#inlineBytes;
    const head = isInline ? this.#inlineHead : this.#outerHead;
    this.#cells.push({ column: column.path, head, value, isInline });
  }

  #acknowledgments(path: Uint8Array): readonly LoadedCell[] {
    return this.#observers
      .filter(({ observer }) => observer.watches(path))
      .map(({ observer, acknowledgment: value }) => ({
        column: observer.acknowledgmentColumn(path),
        head: this.#inlineHead,
        value,
        isInline: true,
      }));
  }
}

function entriesOf(
  table: TableDefinition,
  key: unknown,
  name: string,
  value: unknown,
): ReadonlyMap<string, unknown> {
  if (value instanceof Map) return value;
  throw new InvalidValueError(
    `${table.name}.${name}, row ${describeRow(key)}: a bulk load takes the cells of a family as a Map from qualifiers to values, ` +
      `not ${describeValue(value)}.`,
  );
}

/** Sorts cells by column. They usually are sorted already. */
function sort(cells: LoadedCell[]): void {
  for (let index = 1; index < cells.length; index++) {
    if (compareBytes(cells[index - 1]!.column, cells[index]!.column) > 0) {
      cells.sort((a, b) => compareBytes(a.column, b.column));
      return;
    }
  }
}
