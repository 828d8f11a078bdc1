import type { MarkdownRenderer } from "vitepress";

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

/** The text of a cell, letter by letter with the width of each. */
interface Letter {
  readonly letter: string;
  readonly width: number;
}

/** Widths in pixels on a phone of 390, by the theme's `style.css`. A little too wide, so that what fits by them does fit. */
const textWidth = 325;
const cellPadding = 26;
const codePadding = 6;
const widths = { text: 7.9, heading: 8.6, code: 7.6 };
/** Narrower columns of sentences become one word a line. */
const readableWidth = 150;
const sentenceLength = 30;
const longText = 600;
const readableWidthOfLongText = 190;

/**
 * Marks the tables that are too wide for a phone. There, a table of texts shows each row as a block of lines (`stacked`).
 * A table of numbers has several columns that are aligned to the right. It scrolls, since its columns are for comparison
 * (`scrolling`). Empty headings become plain cells, and a row of them is left out.
 */
export function narrowTables(md: MarkdownRenderer): void {
  md.core.ruler.push("narrow-tables", ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type === "table_open") mark(tokens.slice(index, endOf(tokens, index)));
    }
  });
  // As VitePress' own, which leaves out all attributes.
  md.renderer.rules.table_open = (tokens, index, _options, _env, self) =>
    `<table tabindex="0"${self.renderAttrs(tokens[index]!)}>\n`;
}

const endOf = (tokens: readonly Token[], start: number) =>
  tokens.findIndex(({ type }, index) => index > start && type === "table_close");

function mark(table: readonly Token[]): void {
  const rows = rowsOf(table);
  const [head = [], ...body] = rows;
  const labels = head.map(({ content }) => textOf(content));
  for (const { open, close } of head.filter((_, column) => labels[column] === "")) {
    open.tag = "td";
    close.tag = "td";
  }
  for (const { open, content } of rows.flat())
    if (textOf(content).length > sentenceLength) open.attrJoin("class", "sentence");
  const needed = head.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column]!))));
  if (labels.every((label) => label === ""))
    table.find(({ type }) => type === "thead_open")!.attrSet("hidden", "");
  if (needed.reduce((sum, width) => sum + width, 0) <= textWidth) return;
  const isNumbers = ({ open }: Cell) => open.attrGet("style") === "text-align:right";
  if (head.filter(isNumbers).length > 1) {
    table[0]!.attrJoin("class", "scrolling");
    return;
  }
  table[0]!.attrJoin("class", "stacked");
  // Browsers forget what a table is when its rows are shown as blocks.
  for (const token of table) {
    const role = token.nesting === 1 ? roles[token.type] : undefined;
    if (role !== undefined) token.attrSet("role", token.tag === "td" ? "cell" : role);
  }
  for (const row of body) {
    for (const [column, cell] of row.entries()) {
      const { open, content } = cell;
      if (isNumbers(cell)) alignByClass(open);
      if (column > 0 && labels.length > 2 && labels[column] !== "")
        open.attrSet("data-label", labels[column]!);
      // What typedoc writes instead of nothing.
      if (content.content === "-") open.attrJoin("class", "nothing");
    }
  }
}

/** A class can be overridden where the row is a block, an attribute cannot. */
function alignByClass(cell: Token): void {
  cell.attrs = cell.attrs!.filter(([name]) => name !== "style");
  cell.attrJoin("class", "right");
}

const roles: Readonly<Record<string, string>> = {
  table_open: "table",
  thead_open: "rowgroup",
  tbody_open: "rowgroup",
  tr_open: "row",
  th_open: "columnheader",
  td_open: "cell",
};

interface Cell {
  readonly open: Token;
  readonly content: Token;
  readonly close: Token;
}

function rowsOf(table: readonly Token[]): readonly (readonly Cell[])[] {
  const rows: Cell[][] = [];
  for (const [index, open] of table.entries()) {
    if (open.type === "tr_open") rows.push([]);
    if (open.type !== "th_open" && open.type !== "td_open") continue;
    rows.at(-1)!.push({ open, content: table[index + 1]!, close: table[index + 2]! });
  }
  return rows;
}

const textOf = ({ children }: Token) =>
  (children ?? [])
    .map(({ type, content }) => (type === "text" || type === "code_inline" ? content : ""))
    .join("")
    .trim();

/** The width that a cell needs: its longest word, and enough for its sentences. */
function widthOf({ open, content }: Cell): number {
  const letters = (content.children ?? []).flatMap((token) =>
    lettersOf(token, open.type === "th_open" ? widths.heading : widths.text),
  );
  let word = 0;
  let longest = 0;
  let whole = 0;
  for (const { letter, width } of letters) {
    whole += width;
    word = letter === " " ? 0 : word + width;
    longest = Math.max(longest, word);
  }
  const readable = whole > longText ? readableWidthOfLongText : readableWidth;
  return cellPadding + Math.max(longest, Math.min(whole, readable - cellPadding));
}

function lettersOf({ type, content }: Token, textWidth: number): readonly Letter[] {
  const spaced = (text: string, width: number) =>
    [...text].map((letter) => ({ letter: /\s/.test(letter) ? " " : letter, width }));
  const padding = { letter: "", width: codePadding };
  if (type === "code_inline") return [padding, ...spaced(content, widths.code), padding];
  if (type === "text") return spaced(content, textWidth);
  return type === "softbreak" || /^<br/.test(content) ? [{ letter: " ", width: 0 }] : [];
}
