import { type Column, family, int, json, signal, table, text, tuple } from "percolatordb";

export const docs = table("docs", { title: text(), size: int(), tags: family(text()), poke: signal() });
export const pairs = table("pairs", { value: json<unknown>() }, { key: tuple(text(), int()) });
export const derived = table("derived", { length: int(), pokes: int(), tags: family(text()) });

/** A row key of either table. */
export type Row = string | readonly [string, number];

/** A user's cell. `column` is a column of `docs`, or `value` of `pairs`. */
export interface Cell {
  readonly row: Row;
  readonly column: "title" | "size" | "tags" | "value";
  readonly qualifier?: string | undefined;
}

export type TableName = "docs" | "pairs";

export const tableOf = (cell: Cell): TableName => (cell.column === "value" ? "pairs" : "docs");

export const cellId = ({ row, column, qualifier }: Cell) => JSON.stringify([row, column, qualifier ?? null]);

/** Returns the cell's handle, without its types. */
export function handleOf(cell: Cell): Column<unknown, unknown> {
  const { column, qualifier } = cell;
  const handle =
    column === "title"
      ? docs.title
      : column === "size"
        ? docs.size
        : column === "value"
          ? pairs.value
          : docs.tags.at(qualifier ?? "");
  return handle as unknown as Column<unknown, unknown>;
}

/** Strings sort by their UTF-8 bytes. */
export const compareText = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

export function compareRows(a: Row, b: Row): number {
  if (typeof a === "string" || typeof b === "string") return compareText(String(a), String(b));
  return compareText(a[0], b[0]) || a[1] - b[1];
}
