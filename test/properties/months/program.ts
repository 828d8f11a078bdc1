import {
  type AnyTable,
  type Codec,
  type Column,
  compressed,
  type Family,
  family,
  int,
  json,
  storedAs,
  type Table,
  table,
  text,
} from "percolatordb";
import { derive, eventualIndex, uniqueConstraint } from "percolatordb/recipes";

/*
 * A program as it changes over months: what it declares is data, from which its tables are made. Every value is made
 * from a whole number, so that the model need not know how a column stores it.
 */

export type Kind = "int" | "text" | "json" | "family" | "packed";
export const kinds: readonly Kind[] = ["int", "text", "json", "family", "packed"];
export const newestVersion = 5;

export interface ColumnState {
  /** The name in the program. */
  name: string;
  readonly stored: string;
  readonly kind: Kind;
  version: number;
  /** The version that the program writes. */
  writes: number;
  ttlMs: number | undefined;
  /** Tells the column from an earlier one of the same stored name. */
  readonly incarnation: number;
}

export interface TableState {
  readonly name: string;
  readonly incarnation: number;
  columns: ColumnState[];
}

export interface Program {
  tables: TableState[];
  /** Versions of an index, a unique constraint and a derived table. */
  readonly kept: { index: number; unique: number; derived: number };
}

type Shape = Readonly<Record<string, number | string>>;
type AnyRow = Readonly<Record<string, unknown>>;

const shapeOf = (version: number, n: number): Shape => ({
  [`f${version}`]: n,
  pad: "x".repeat(n % 7 === 0 ? 3_000 : 3),
});

/** A function from the shape of one version to that of another. It refuses any other shape. */
const reshape = (from: number, to: number) => (shape: Shape) => {
  const n = shape[`f${from}`];
  if (typeof n !== "number") throw new Error(`It is not of version ${from}: ${JSON.stringify(shape)}`);
  return shapeOf(to, n);
};

function reshapes(from: number, to: number, step: 1 | -1) {
  const versions = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  return Object.fromEntries(versions.map((version) => [version, reshape(version, version + step)]));
}

function jsonOf({ version, writes }: ColumnState): Codec<Shape> {
  const upgrade = reshapes(1, version - 1, 1);
  if (writes === version) return json<Shape>(undefined, { version, upgrade });
  return json<Shape>(undefined, {
    version,
    upgrade,
    writeVersion: writes,
    downgrade: reshapes(writes + 1, version, -1),
  });
}

function declarationOf(column: ColumnState) {
  const declarations = {
    int: () => int(),
    text: () => text(),
    json: () => jsonOf(column),
    family: () => family(jsonOf(column)),
    packed: () => compressed(jsonOf(column)),
  };
  const declared = declarations[column.kind]() as Codec<unknown>;
  return column.name === column.stored ? declared : storedAs(column.stored, declared);
}

export function valueFor({ kind, version }: ColumnState, n: number): unknown {
  if (kind === "int") return n;
  return kind === "text" ? `text ${n}` : shapeOf(version, n);
}

/** The number of a value. Throws if it does not have the shape that the column declares. */
export function numberOf({ kind, version }: ColumnState, value: unknown): number {
  if (kind === "int") return value as number;
  if (kind === "text") return Number(/^text (\d+)$/.exec(value as string)![1]);
  const n = (value as Shape)[`f${version}`];
  if (typeof n !== "number") throw new Error(`It is not of version ${version}: ${JSON.stringify(value)}`);
  return n;
}

export function tableOf({ name, columns }: TableState): Table<Record<string, Codec<unknown>>, string> {
  const declared = Object.fromEntries(columns.map((column) => [column.name, declarationOf(column)]));
  const ttlMs = Object.fromEntries(
    columns.flatMap(({ name, ttlMs }) => (ttlMs === undefined ? [] : [[name, ttlMs] as const])),
  );
  return table(name, declared, Object.keys(ttlMs).length > 0 ? { ttlMs } : {}) as never;
}

/** The handle of a cell. */
export function cellOf(
  of: TableState,
  { name, kind }: ColumnState,
  qualifier: string,
): Column<unknown, string> {
  const handle = (tableOf(of) as AnyTable as unknown as AnyRow)[name];
  if (kind === "family") return (handle as Family<unknown, string>).at(qualifier);
  return handle as Column<unknown, string>;
}

export const people = table("people", { mail: text() });
export const isCased = ({ kept }: Program) => kept.unique % 2 === 0;
export const mailKey = (program: Program) => (mail: string) => (isCased(program) ? mail : mail.toLowerCase());

/** The index, the unique constraint and the derived table of a program. The first and the last are of `t0.j`. */
export function keptOf(program: Program) {
  const { index, unique, derived } = program.kept;
  const source = program.tables.find(({ name }) => name === "t0")!;
  const j = source.columns.find(({ stored }) => stored === "j")!;
  const byNumber = eventualIndex("by_number", cellOf(source, j, ""), {
    by: int(),
    of: (value) => [numberOf(j, value) % (3 + index)],
    version: index,
  });
  const mails = uniqueConstraint("mails", people.mail, { by: mailKey(program), version: unique });
  const sums = derive("sums", {
    from: tableOf(source),
    reads: [j.name],
    key: [int()],
    groupBy: (row) => [numberOf(j, (row as AnyRow)[j.name]) % (2 + derived)],
    count: true,
    sum: (row) => numberOf(j, (row as AnyRow)[j.name]),
    max: (row) => numberOf(j, (row as AnyRow)[j.name]),
    version: derived,
  });
  return { byNumber, mails, sums };
}

/** What `open` and `db.schema` take. */
export function declaredBy(program: Program) {
  const { byNumber, mails, sums } = keptOf(program);
  return {
    tables: [...program.tables.map(tableOf), people],
    lookups: [byNumber, mails],
    derivations: [sums],
  };
}
