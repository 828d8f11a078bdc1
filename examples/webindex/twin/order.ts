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
