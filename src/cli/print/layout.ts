/** One column of a table for people. Numbers are aligned to the right. */
export interface LayoutColumn {
  readonly name: string;
  readonly align?: "right" | undefined;
}

const gap = "  ";

/** Formats rows under the names of their columns, aligned and without trailing spaces. */
export function layOut(columns: readonly LayoutColumn[], rows: readonly (readonly string[])[]): string[] {
  const lines = [columns.map((column) => column.name.toUpperCase()), ...rows];
  return align(lines, new Set(columns.flatMap((column, index) => (column.align === "right" ? [index] : []))));
}

/** Formats names and values, one pair a line, with the values aligned. */
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

/**
 * Returns text on one line. Control characters could command the terminal, and others could hide or
 * reorder a part of the line, so they are escaped as in JSON.
 */
export function oneLine(text: string): string {
  return text.replace(controls, (character) => short.get(character) ?? unicodeEscape(character));
}

/** Like {@link oneLine}, but keeps line ends and tabs. */
export function withoutControls(text: string): string {
  return text.replace(controls, (character) =>
    character === "\n" || character === "\t" ? character : oneLine(character),
  );
}

/** Control characters, line ends, invisible characters, and those that change the writing direction. */
const controls =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this expression looks for them
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
const short: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Cuts text to a width and marks the cut with `…`. Without a width, returns all of it. */
export function cutToWidth(text: string, width: number | undefined): string {
  if (width === undefined || text.length <= width) return text;
  return `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Formats a count with its noun: `1 problem`, `2 problems`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const byteUnits = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** Formats a number of bytes for people: `1.5 MiB`. */
export function showBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < byteUnits.length - 1) {
    value /= 1_024;
    unit++;
  }
  return unit === 0 ? counted(bytes, "byte") : `${value.toFixed(1)} ${byteUnits[unit]}`;
}
