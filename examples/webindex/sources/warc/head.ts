/**
 * The named fields of a WARC record or of an HTTP message. Both have the same format. Names are in
 * lower case. If a name is repeated, the first field counts.
 */
export type Fields = ReadonlyMap<string, string>;

export interface Head {
  /** The first line, such as `WARC/1.1` or `HTTP/1.1 200 OK`. */
  readonly first: string;
  readonly fields: Fields;
  /**
   * Lines that are not fields, and names that have two different values. In a WARC header both are
   * signs of damage.
   */
  readonly oddities: readonly string[];
}

/** A longer head is taken for damage, or for other data. */
export const maxHeadBytes = 256 * 1024;

/**
 * Returns the length of the head at the beginning of `bytes`, including the blank line, or -1 if
 * the head does not end within them.
 */
export function headLength(bytes: Buffer): number {
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
  }
  return -1;
}

/**
 * Parses a head. Lines may end in CRLF or LF. A line that begins with white space continues the
 * previous one.
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

/** Returns a few characters of unknown text, safe for a message. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
