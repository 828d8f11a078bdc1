/** Columns of a table for people: a name each, numbers to the right. */
export interface LayoutColumn {
  readonly name: string;
  readonly align?: "right" | undefined;
}

const gap = "  ";

/** Rows under their columns' names, aligned; lines without trailing spaces. */
export function layOut(columns: readonly LayoutColumn[], rows: readonly (readonly string[])[]): string[] {
  const lines = [columns.map((column) => column.name.toUpperCase()), ...rows];
  return align(lines, new Set(columns.flatMap((column, index) => (column.align === "right" ? [index] : []))));
}

/** Names and values, one pair a line, the values under each other. */
export function layOutPairs(pairs: readonly (readonly [string, string])[]): string[] {
  return align(pairs, new Set());
}

function align(lines: readonly (readonly string[])[], right: ReadonlySet<number>): string[] {
  const widths: number[] = [];
  for (const line of lines) {
    for (const [index, cell] of line.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return lines.map((line) =>
    line
      .map((cell, index) => (right.has(index) ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!)))
      .join(gap)
      .trimEnd(),
  );
}

/** Text on one line: control characters, which could also command the terminal, are shown as JSON escapes them. */
export function oneLine(text: string): string {
  return text.replace(controls, (character) => short.get(character) ?? unicodeEscape(character));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;
const short: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Text cut to a width, with a sign that it was; all of it without a width. */
export function cut(text: string, width: number | undefined): string {
  if (width === undefined || text.length <= width) return text;
  return `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** A count with its noun: `1 problem`, `2 problems`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const byteUnits = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes for people: `1.5 MiB`. */
export function showBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < byteUnits.length - 1) {
    value /= 1_024;
    unit++;
  }
  return unit === 0 ? counted(bytes, "byte") : `${value.toFixed(1)} ${byteUnits[unit]}`;
}
