import { InvalidValueError, SchemaError } from "../../../errors/index.js";
import { type Column, definition, encodeRow, tableColumns, valueErrorAt } from "../../../schema/index.js";
import { compareBytes } from "../../../store/index.js";
import { ownProperty } from "../../own-property.js";
import type { Recorded } from "../table/attachment.js";
import type { AttachedSource, Tx } from "../table/source.js";
import { parsedValue } from "../table/values.js";
import { largeRowReason } from "./large-row.js";

/** An attached table that this program moves. */
export interface Followed extends Recorded {
  readonly id: string;
  readonly generation: string;
  readonly since: string;
  readonly source: AttachedSource;
}

/** A row's columns, each as JSON text. */
export type Content = Readonly<Record<string, string>>;

/** A change of a row: set, deleted, all rows truncated, or unknown, because the trigger could not read the row. */
export interface Write {
  readonly op: "s" | "d" | "t" | "x";
  readonly content: Content;
  /** The bytes of a row that is too large to be read. It has no content. */
  readonly tooLargeBytes?: number | undefined;
}

/** The key of a row of an SQL table. */
export function keyOf(followed: Followed, content: Content): unknown {
  const parts = followed.keyColumns.map((name, i) => {
    const raw = ownProperty(content, name);
    if (raw !== undefined && raw !== "null") return keyPart(name, followed.keyTags[i]!, raw);
    throw new SchemaError(`${followed.source.sql} has no key column ${JSON.stringify(name)} any more.`);
  });
  return followed.hasTupleKey ? parts : parts[0];
}

function keyPart(name: string, tag: string, raw: string): unknown {
  try {
    return parsedValue(tag, raw);
  } catch (error) {
    throw error instanceof InvalidValueError
      ? new InvalidValueError(`key column ${name}: ${error.message}`)
      : error;
  }
}

/** The name of a row's key, for sets and maps. */
export function keyName({ source }: Followed, key: unknown): string {
  return Buffer.from(encodeRow(source.target[definition], key)).toString("latin1");
}

function unread({ source }: Followed): SchemaError {
  return new SchemaError(
    `A trigger of the application wrote ${source.sql}, and ours could not read the newest row afterwards. The role that ` +
      "owns the outbox needs SELECT on the table, row-level security must not hide rows from it, and the table needs its primary key.",
  );
}

function readValue(column: Column<unknown, unknown>, key: unknown, raw: string): unknown {
  try {
    return parsedValue(column.codec.tag, raw);
  } catch (error) {
    throw valueErrorAt(column, key, error);
  }
}

/** The most rows whose columns are read at the same time. */
const maxReadTogether = 1_000;

/** Brings the cells of one table up to date in one transaction. Writes only what differs. */
export class ChangedTable {
  readonly #tx: Tx;
  readonly #followed: Followed;
  readonly #columns: readonly Column<unknown, unknown>[];

  constructor(tx: Tx, followed: Followed) {
    this.#tx = tx;
    this.#followed = followed;
    this.#columns = tableColumns(followed.source.target) as readonly Column<unknown, unknown>[];
  }

  /**
   * Applies changes in their order. Resolves to false if a `TRUNCATE` left more than `maxTruncated`
   * rows to delete: the copy must then compare all rows.
   */
  async apply(writes: readonly Write[], maxTruncated = 0): Promise<boolean> {
    const after = new Map<string, { readonly key: unknown; readonly content: Content | undefined }>();
    let isTruncated = false;
    for (const { op, content, tooLargeBytes } of writes) {
      if (op === "x") throw unread(this.#followed);
      if (tooLargeBytes !== undefined) {
        throw new SchemaError(largeRowReason(this.#followed.source.sql, tooLargeBytes));
      }
      if (op === "t") {
        isTruncated = true;
        after.clear();
        continue;
      }
      const key = keyOf(this.#followed, content);
      after.set(keyName(this.#followed, key), { key, content: op === "d" ? undefined : content });
    }
    const isComplete = !isTruncated || (await this.#deleteOthers(new Set(after.keys()), maxTruncated));
    const rows = [...after.values()];
    const keys = rows.map(({ key }) => key);
    // Columns that are read in one turn share a statement. Those of many rows would take much memory.
    const together = rows.length <= maxReadTogether ? this.#columns.length : 1;
    for (let from = 0; from < this.#columns.length; from += together) {
      const columns = this.#columns.slice(from, from + together);
      const before = await Promise.all(columns.map((column) => this.#tx.getMany(column, keys)));
      for (const [at, column] of columns.entries()) {
        for (const [i, { key, content }] of rows.entries()) this.#write(column, key, before[at]![i], content);
      }
    }
    return isComplete;
  }

  async #deleteOthers(kept: ReadonlySet<string>, maxTruncated: number): Promise<boolean> {
    const { target } = this.#followed.source;
    const others: unknown[] = [];
    for await (const { row } of this.#tx.scan(target)) {
      if (kept.has(keyName(this.#followed, row))) continue;
      others.push(row);
      if (others.length > maxTruncated) return false;
    }
    for (const row of others) await this.#tx.deleteRow(target, row as never);
    return true;
  }

  #write(
    column: Column<unknown, unknown>,
    key: unknown,
    before: unknown,
    content: Content | undefined,
  ): void {
    const raw = content === undefined ? "null" : ownProperty(content, column.name);
    if (raw === undefined) {
      throw new SchemaError(
        `${this.#followed.source.sql} has no column ${JSON.stringify(column.name)} any more.`,
      );
    }
    if (raw === "null") {
      if (before !== undefined) this.#tx.delete(column, key);
      return;
    }
    const value = readValue(column, key, raw);
    const isSame =
      before !== undefined && compareBytes(column.codec.encode(before), column.codec.encode(value)) === 0;
    if (!isSame) this.#tx.set(column, key, value);
  }
}
