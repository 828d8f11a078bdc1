/**
 * The named fields of a WARC record or of an HTTP message: the same form. Names in lower case,
 * first one counts.
 */
export type Fields = ReadonlyMap<string, string>;

export interface Head {
  /** The first line: `WARC/1.1`, `HTTP/1.1 200 OK`. */
  readonly first: string;
  readonly fields: Fields;
  /**
   * Lines that are no field, and fields named twice with two values: signs of damage in a WARC
   * header.
   */
  readonly oddities: readonly string[];
}

/**
 * The length of the head that `bytes` begins with, blank line included, or -1 if it does not end in
 * them.
 */
export function headLength(bytes: Buffer): number {
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
  }
  return -1;
}

/**
 * Reads a head. Lines may end in CRLF or LF; a line that begins with white space goes on with the
 * one before.
 */
export function parseHead(bytes: Buffer): Head {
  const [first = "", ...lines] = bytes.toString("utf8").trimEnd().split(/\r?\n/);
  const fields = new Map<string, string>();
  const oddities: string[] = [];
  let last: string | undefined;
  for (const line of lines) {
    if (last !== undefined && /^[ \t]/.test(line)) {
      fields.set(last, `${fields.get(last)} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon <= 0 || !/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)) {
      oddities.push(`a line that is no field: ${excerpt(line)}`);
      continue;
    }
    const value = line.slice(colon + 1).trim();
    const before = fields.get(name);
    if (before !== undefined && before !== value) oddities.push(`two values of ${name}`);
    if (before === undefined) fields.set(name, value);
    last = name;
  }
  return { first: first.trimEnd(), fields, oddities };
}

/** A few characters of something unknown, fit for a message. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
