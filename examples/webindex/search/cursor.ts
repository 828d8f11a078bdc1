/** The place of a result in the order of results: by score, then by URL. */
export interface Cursor {
  readonly score: number;
  readonly url: string;
}

/** Whether a result comes after a place. */
export function isAfter({ score, url }: Cursor, place: Cursor): boolean {
  return score < place.score || (score === place.score && url > place.url);
}

export function formatCursor({ score, url }: Cursor): string {
  return `${score} ${url}`;
}

/** Parses what {@link formatCursor} returned. `undefined` for anything else. */
export function parseCursor(text: string): Cursor | undefined {
  const found = /^(\d+(?:\.\d+)?(?:e[+-]?\d+)?) (\S+)$/.exec(text);
  return found === null ? undefined : { score: Number(found[1]), url: found[2]! };
}
