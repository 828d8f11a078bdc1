/** A longer message is cut before it is normalised, so that the work is bounded. */
const maxGiven = 2_000;
const maxNormalised = 300;

/**
 * The parts of a message that differ between failures of one kind, in the order in which they are
 * replaced. Each pattern reads a message once, without going back.
 */
const variable: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // Quoted strings. An apostrophe within a word, as in "can't", begins no string.
  [/"(?:[^"\\]|\\.)*"/g, '"…"'],
  [/`[^`]*`/g, '"…"'],
  [/(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu, '"…"'],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, "#"],
  [/\b0x[0-9a-f]+\b/gi, "#"],
  // Hexadecimal numbers such as hashes. A word of letters alone, such as "defaced", is none.
  [/\b(?=[a-f]*\d)[0-9a-f]{8,}\b/gi, "#"],
  // Ids of letters and digits, such as 01J8ZQ5M2N. At least two digits, so that "utf8" stays.
  [/\b(?=[a-z]*\d[a-z]*\d)(?=\d*[a-z])[a-z0-9]{8,}\b/gi, "#"],
  [/\d+(?:[.,:]\d+)*/g, "#"],
  // Lists of such parts have different lengths. One stands for all.
  [/(#|"…")(?:,\s*\1)+/g, "$1"],
  [/\s+/g, " "],
];

/**
 * The kind of a failure: its message without what differs from row to row. Quoted strings become
 * `"…"`, and ids, numbers and hexadecimal numbers become `#`.
 *
 * @example
 * normalise('Order 17 of "oslo" was refused'); // Order # of "…" was refused
 */
export function normalise(message: string): string {
  let text = message.slice(0, maxGiven);
  for (const [pattern, replacement] of variable) text = text.replace(pattern, replacement);
  text = text.trim();
  return text.length <= maxNormalised ? text : `${text.slice(0, maxNormalised)}…`;
}
