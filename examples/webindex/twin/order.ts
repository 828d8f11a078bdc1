/** Sorts strings as a database does: by their bytes in UTF-8. */
export function inKeyOrder(keys: Iterable<string>): string[] {
  return [...keys]
    .map((key) => ({ key, bytes: Buffer.from(key) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ key }) => key);
}

/** Compares two strings in that order. */
export function compareKeys(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** A row's key as the database has it. */
export type RowKey = string | readonly [site: string, group: number];

/** Returns a key as one text. Texts have the order of their keys: no site contains a space. */
export function rowText(key: RowKey): string {
  return typeof key === "string" ? key : `${key[0]} ${String(key[1]).padStart(3, "0")}`;
}

/** The key of a row of `links`, from its text. */
export function linkKey(text: string): readonly [site: string, group: number] {
  const end = text.lastIndexOf(" ");
  return [text.slice(0, end), Number(text.slice(end + 1))];
}
