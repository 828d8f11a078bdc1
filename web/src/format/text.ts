/**
 * Escapes control characters and line ends as JSON does, so that one line stays one line and
 * nothing is hidden.
 */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
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
