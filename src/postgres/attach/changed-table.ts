import { SchemaError } from "../../errors/index.js";
import { type Column, definition, encodeRow, tableColumns } from "../../schema/index.js";
import { compareBytes } from "../../store/index.js";
import type { Transaction } from "../../transaction/index.js";
import type { AttachedSource } from "./source.js";
import { parsedValue } from "./values.js";

/** An attached table, as its attachment is recorded. */
export interface Followed {
  readonly id: string;
  readonly source: AttachedSource;
  readonly keyColumns: readonly string[];
  readonly keyTags: readonly string[];
  /** The types of the key's columns, as casts write them. */
  readonly keyTypes: readonly string[];
  readonly hasTupleKey: boolean;
}

/** A row's columns, as text. */
export type Content = Readonly<Record<string, string | null>>;

/** A change of a row: set, deleted, or all rows truncated. */
export interface Write {
  readonly op: "s" | "d" | "t";
  readonly content: Content;
}

/** The key of a row of an SQL table. */
export function keyOf(followed: Followed, content: Content): unknown {
  const parts = followed.keyColumns.map((name, i) => {
    const text = content[name];
    if (typeof text === "string") return parsedValue(followed.keyTags[i]!, text);
    throw new SchemaError(
      `${followed.source.sql} has no key column ${JSON.stringify(name)} any more. Call \`attachTables\` again.`,
    );
  });
  return followed.hasTupleKey ? parts : parts[0];
}

/** Brings the cells of one table up to date in one transaction. Writes only what differs. */
export class ChangedTable {
  readonly #tx: Transaction;
  readonly #followed: Followed;
  readonly #columns: readonly Column<unknown, unknown>[];

  constructor(tx: Transaction, followed: Followed) {
    this.#tx = tx;
    this.#followed = followed;
    this.#columns = tableColumns(followed.source.target) as readonly Column<unknown, unknown>[];
  }

  async apply(writes: readonly Write[]): Promise<void> {
    const after = new Map<string, { readonly key: unknown; readonly content: Content | undefined }>();
    let isTruncated = false;
    for (const { op, content } of writes) {
      if (op === "t") {
        isTruncated = true;
        after.clear();
        continue;
      }
      const key = keyOf(this.#followed, content);
      after.set(this.#name(key), { key, content: op === "d" ? undefined : content });
    }
    if (isTruncated) await this.#deleteOthers(new Set(after.keys()));
    const rows = [...after.values()];
    const keys = rows.map(({ key }) => key);
    for (const column of this.#columns) {
      const before = await this.#tx.getMany(column, keys);
      for (const [i, { key, content }] of rows.entries()) this.#write(column, key, before[i], content);
    }
  }

  #name(key: unknown): string {
    return Buffer.from(encodeRow(this.#followed.source.target[definition], key)).toString("latin1");
  }

  async #deleteOthers(kept: ReadonlySet<string>): Promise<void> {
    for await (const { row } of this.#tx.scan(this.#followed.source.target)) {
      if (!kept.has(this.#name(row))) await this.#tx.deleteRow(this.#followed.source.target, row as never);
    }
  }

  #write(
    column: Column<unknown, unknown>,
    key: unknown,
    before: unknown,
    content: Content | undefined,
  ): void {
    const text = content === undefined ? null : content[column.name];
    if (text === undefined) {
      throw new SchemaError(
        `${this.#followed.source.sql} has no column ${JSON.stringify(column.name)} any more. No change of attached tables ` +
          "is moved until you change `columns` and call `attachTables` again.",
      );
    }
    if (text === null) {
      if (before !== undefined) this.#tx.delete(column, key);
      return;
    }
    const value = parsedValue(column.codec.tag, text);
    const isSame =
      before !== undefined && compareBytes(column.codec.encode(before), column.codec.encode(value)) === 0;
    if (!isSame) this.#tx.set(column, key, value);
  }
}
