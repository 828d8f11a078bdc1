/** Strings in the order in which a database keeps them: by their bytes in UTF-8. */
export function inKeyOrder(keys: Iterable<string>): string[] {
  return [...keys]
    .map((key) => ({ key, bytes: Buffer.from(key) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ key }) => key);
}

/** Which of two strings comes first in that order. */
export function compareKeys(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}
