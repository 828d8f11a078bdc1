/**
 * Control characters, line ends, invisible characters, and those that change the writing direction. The
 * joiners U+200C and U+200D belong to words and emoji.
 */
export const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

/** Escapes what is {@link hidden} as JSON does, so that one line stays one line. */
export function oneLine(text: string): string {
  return text.replaceAll(hidden, escaped);
}

/** A key in one line. Nothing and blanks alone would not be seen, so they are quoted. */
export function keyLine(key: string): string {
  return key.trim() === "" ? JSON.stringify(key) : oneLine(key);
}

/** An error in one line. The letters after a hidden character keep their direction. */
export function errorLine(text: string): string {
  return oneLine(text.replaceAll(/\s+/g, " "));
}

function escaped(character: string): string {
  const inJson = JSON.stringify(character).slice(1, -1);
  return inJson === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : inJson;
}

/** The beginning of a session id, enough to recognize it. */
export function shortId(id: string): string {
  return id.length <= 12 ? id : id.slice(0, 8);
}

/** `table.column`, for a place that shows the row separately. */
export function columnName({ table, column }: { readonly table: string; readonly column: string }): string {
  return `${table}.${column}`;
}

/** JSON objects and arrays with a line for each part. Any other text as it is. */
export function formatted(text: string): string {
  if (!/^[[{]/.test(text)) return text;
  try {
    const parsed: unknown = JSON.parse(text);
    // Numbers that JSON.parse cannot hold exactly would change.
    if (JSON.stringify(parsed) !== text) return text;
    return JSON.stringify(parsed, undefined, 2);
  } catch {
    return text;
  }
}

/** The parts of a composite key as texts. Undefined if the key is not a JSON array of as many parts. */
export function partsOf(row: string, count: number | undefined): readonly string[] | undefined {
  if (count === undefined) return undefined;
  try {
    const parts: unknown = JSON.parse(row);
    if (!Array.isArray(parts) || parts.length !== count) return undefined;
    return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part)));
  } catch {
    return undefined;
  }
}
