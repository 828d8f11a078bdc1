import type {
  CellHistory,
  InspectedRow,
  RowDetail,
  RowShown,
  RowsPage,
  ValueShown,
} from "../../src/dashboard/api/index.js";
import { startedAt } from "./pipeline.js";

/** Ten thousand invented rows. Keys in many scripts come first. */

const strange = [
  "",
  "\u0000control\tand\nline ends",
  "<script>alert(1)</script>",
  "emoji/🦉🧪/👩‍👩‍👧",
  "עברית/דף ראשי?מספר=12",
  "العربية/صفحة",
  "日本語/ページ",
  `https://example.org/${"very-long-path/".repeat(24)}`,
];

export const rowCount = 10_000;

const nameOf = (index: number) =>
  strange[index] ?? `https://example.org/manual/${String(index).padStart(5, "0")}.html`;

const value = (text: string, most = 200): ValueShown => ({
  text: text.slice(0, most),
  bytes: new TextEncoder().encode(text).length,
  isCut: text.length > most,
});

/** Of three rows one expires, one has expired, and one does not expire. */
function expiryOf(index: number): { readonly expiresAt?: number } {
  if (index % 3 === 1) return {};
  return { expiresAt: index % 3 === 2 ? startedAt + 11_000_000 : startedAt - 2_500 };
}

function cellsOf(index: number, most: number): RowShown["cells"] {
  const long = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. ".repeat(index === 7 ? 90_000 : 12);
  return [
    { column: "contents", value: value(`<!doctype html>\n<title>Page ${index}</title>\n<p>${long}`, most) },
    { column: "title", value: value(index % 5 === 4 ? strange[4]! : `Page ${index} — a title`, most) },
    {
      column: "hash",
      value: value((index * 2_654_435_761).toString(16).padStart(16, "0"), most),
      ...expiryOf(index),
    },
    { column: "links", value: value(JSON.stringify([nameOf(index + 1), nameOf(index + 2)]), most) },
    { column: "anchors:https://example.org/", value: value("home", most) },
    ...Array.from({ length: index % 9 }, (_, at) => ({
      column: `anchors:${nameOf(at + 20)}`,
      value: value(`see ${at}`, most),
    })),
  ];
}

export function rowsPage(query: URLSearchParams): RowsPage {
  const prefix = query.get("prefix") ?? "";
  const limit = Number(query.get("limit") ?? 50);
  const from = Number(query.get("after") ?? -1) + 1;
  const rows: RowShown[] = [];
  let index = from;
  for (; index < rowCount && rows.length < limit; index++) {
    const row = nameOf(index);
    if (row.startsWith(prefix)) rows.push({ row, cells: cellsOf(index, 200), isCut: false });
  }
  const at = Number(query.get("at") ?? startedAt);
  return {
    table: query.get("table") ?? "documents",
    at: at > 1e14 ? at : at * 1_000,
    keyParts: undefined,
    keyKinds: undefined,
    columns: ["contents", "title", "hash", "links", "anchors"],
    rows,
    next: index < rowCount ? String(index - 1) : undefined,
  };
}

export function rowDetail(query: URLSearchParams): RowDetail {
  const row = query.get("row") ?? "";
  const index = Array.from({ length: rowCount }, (_, each) => each).find((each) => nameOf(each) === row) ?? 0;
  return {
    table: query.get("table") ?? "",
    row,
    at: startedAt * 1_000,
    cells: cellsOf(index, 20_000).map((cell) => ({
      ...cell,
      writtenAt: startedAt - 61_000,
      writer: { name: "extract", isObserver: true, process: "4711 on alpha", id: "t401" },
    })),
    isCut: false,
  };
}

export function cellHistory(query: URLSearchParams): CellHistory {
  const versions = Array.from({ length: 6 }, (_, index) => {
    const at = startedAt - index * 431_007;
    const commitTimestamp = at * 1_000 + 321;
    return {
      commitTimestamp,
      startTimestamp: commitTimestamp - 2_400,
      at,
      writer: undefined,
      value: index === 2 ? undefined : value(`the value ${6 - index}`),
    };
  });
  const [table, row, column] = ["table", "row", "column"].map((name) => query.get(name) ?? "");
  return { table: table!, row: row!, column: column!, versions, isCut: false };
}

/** A row in the middle of a commit: a lock, its new value, and the version before it. */
export function inspectedRow(query: URLSearchParams): InspectedRow {
  const start = startedAt * 1_000;
  const entry = (timestamp: number, shown: Partial<InspectedRow["columns"][number]["entries"][number]>) => ({
    timestamp,
    writer: undefined,
    at: timestamp / 1_000,
    data: undefined,
    lock: undefined,
    write: undefined,
    status: undefined,
    ...shown,
  });
  const column = (
    name: string,
    role: "user" | "acknowledgment" | "parked",
    entries: ReturnType<typeof entry>[],
  ) => ({
    column: name,
    role,
    entries,
  });
  return {
    table: query.get("table") ?? "",
    row: query.get("row") ?? "",
    columns: [
      column("contents", "user", [
        entry(start + 900, { data: value("<p>new</p>"), lock: "put, primary" }),
        entry(start - 5_000, { write: `put from ${start - 7_000}` }),
        entry(start - 7_000, { data: value("<p>old</p>") }),
      ]),
      column("hash", "user", [
        entry(start + 900, { data: value("93ab"), lock: "put, primary is contents" }),
        entry(start - 5_000, {
          write: `put from ${start - 7_000}`,
          data: value("11f0"),
          status: "committed",
        }),
      ]),
      column("contents~ack:extract", "acknowledgment", [
        entry(start - 4_000, { data: value(String(start - 5_000)), write: `put from ${start - 4_400}` }),
      ]),
    ],
    isCut: false,
    hints: [
      { observer: "cluster", column: "hash", since: start - 2_000_000 },
      { observer: "rank", column: "rescore", since: start - 9_000_000 },
    ],
  };
}
