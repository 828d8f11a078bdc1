import fc from "fast-check";
import type { Cell, Row, TableName } from "./tables.js";

/** What is read: one column over all rows, a family, or a table. */
export type ScanTarget = "title" | "size" | "tags" | "value" | TableName;

export interface ScanChoice {
  readonly prefix?: string | undefined;
  readonly start?: Row | undefined;
  readonly end?: Row | undefined;
  readonly reverse: boolean;
  readonly limit?: number | undefined;
}

export interface EntriesChoice {
  readonly prefix?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly limit?: number | undefined;
}

export type Operation =
  | { readonly do: "set"; readonly cell: Cell; readonly value: unknown }
  | { readonly do: "delete"; readonly cell: Cell }
  | { readonly do: "deleteRow"; readonly table: TableName; readonly row: Row }
  | { readonly do: "notify"; readonly row: string }
  | { readonly do: "get"; readonly cell: Cell }
  | { readonly do: "getMany"; readonly cells: readonly Cell[] }
  | { readonly do: "row"; readonly table: TableName; readonly row: Row }
  | { readonly do: "scan"; readonly target: ScanTarget; readonly choice: ScanChoice }
  | { readonly do: "entries"; readonly row: string; readonly choice: EntriesChoice }
  | { readonly do: "refused"; readonly what: Refused };

/** Calls that must be refused, each with its error. */
export const refused = {
  "a lone surrogate as a row": "INVALID_KEY",
  "a row too long": "INVALID_KEY",
  "a row and qualifier too long": "INVALID_KEY",
  "a value of another type": "INVALID_VALUE",
  "a value that JSON cannot carry": "INVALID_VALUE",
  "a limit below 0": "INVALID_ARGUMENT",
  "a signal that is set": "SCHEMA",
} as const;

export type Refused = keyof typeof refused;

// Few rows, so that operations meet. They have every length of UTF-8 characters, and sort
// differently than in JavaScript.
const textRows = ["", "\0", "a", "a\0", "ab", "b", "é", "\uFF61", "😀"] as const;
const qualifiers = ["", "\0", "q", "qq", "😀"] as const;

const textRow = mostly("a", fc.constantFrom(...textRows));
const pairRow = mostly(
  ["a", 0] as const,
  fc.tuple(fc.constantFrom("", "a", "a\0", "b"), fc.constantFrom(-300, -1, 0, 1, 2 ** 40)),
);
const qualifier = mostly("q", fc.constantFrom(...qualifiers));
const word = fc.constantFrom("", "x", "!bad", "yy", "long ".repeat(30), "far ".repeat(5_000));
const number = fc.constantFrom(0, 1, -1, Number.MAX_SAFE_INTEGER);
const jsonValue = fc.constantFrom<unknown>(null, 0, "s", [1, [2]], { a: { b: [] } }, "w".repeat(200));

const titles = textRow.map((row): Cell => ({ row, column: "title" }));
const sizes = textRow.map((row): Cell => ({ row, column: "size" }));
const tags = fc
  .tuple(textRow, qualifier)
  .map(([row, name]): Cell => ({ row, column: "tags", qualifier: name }));
const values = pairRow.map((row): Cell => ({ row, column: "value" }));
const cells = fc.oneof(titles, sizes, tags, values);

const writes = fc
  .oneof(fc.tuple(titles, word), fc.tuple(sizes, number), fc.tuple(tags, word), fc.tuple(values, jsonValue))
  .map(([cell, value]): Operation => ({ do: "set", cell, value }));

const rows = fc.oneof(
  textRow.map((row) => ({ table: "docs", row }) as const),
  pairRow.map((row) => ({ table: "pairs", row }) as const),
);

const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 2 });
const limit = maybe(fc.integer({ min: 0, max: 4 }));

const textScan = fc.record({
  prefix: maybe(textRow),
  start: maybe(textRow),
  end: maybe(textRow),
  reverse: fc.boolean(),
  limit,
});
const pairScan = fc.record({
  prefix: maybe(fc.constantFrom("", "a", "a\0", "b")),
  start: maybe(pairRow),
  end: maybe(pairRow),
  reverse: fc.boolean(),
  limit,
});

const scans = fc.oneof(
  fc
    .tuple(fc.constantFrom("title", "size", "tags", "docs" as const), textScan)
    .map(([target, choice]): Operation => ({ do: "scan", target: target as ScanTarget, choice })),
  fc
    .tuple(fc.constantFrom("value", "pairs" as const), pairScan)
    .map(([target, choice]): Operation => ({ do: "scan", target: target as ScanTarget, choice })),
);

const entries = fc
  .tuple(
    textRow,
    fc.record({
      prefix: maybe(fc.constantFrom(...qualifiers)),
      start: maybe(fc.constantFrom(...qualifiers)),
      end: maybe(fc.constantFrom(...qualifiers)),
      limit,
    }),
  )
  .map(([row, choice]): Operation => ({ do: "entries", row, choice }));

/** Prefers some values, so that transactions conflict often. */
function mostly<T, U extends T>(often: U, others: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: fc.constant<T>(often), weight: 2 }, { arbitrary: others, weight: 3 });
}

/** Operations that only read. */
export const reads: fc.Arbitrary<Operation> = fc.oneof(
  cells.map((cell): Operation => ({ do: "get", cell })),
  fc.array(titles, { maxLength: 3 }).map((some): Operation => ({ do: "getMany", cells: some })),
  rows.map((row): Operation => ({ do: "row", ...row })),
  { arbitrary: scans, weight: 2 },
  entries,
);

/** All operations of a transaction. */
export const operations: fc.Arbitrary<Operation> = fc.oneof(
  { arbitrary: writes, weight: 6 },
  { arbitrary: cells.map((cell): Operation => ({ do: "delete", cell })), weight: 2 },
  { arbitrary: rows.map((row): Operation => ({ do: "deleteRow", ...row })), weight: 1 },
  { arbitrary: textRow.map((row): Operation => ({ do: "notify", row })), weight: 1 },
  { arbitrary: reads, weight: 6 },
  {
    arbitrary: fc
      .constantFrom(...(Object.keys(refused) as Refused[]))
      .map((what): Operation => ({ do: "refused", what })),
    weight: 1,
  },
);

export const anyCell = cells;
