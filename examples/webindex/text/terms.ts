/**
 * The longest term, in UTF-16 code units. Longer words, which are mostly encoded data, are left
 * out.
 */
export const longestTerm = 64;
/** The most different terms of one text. Further terms are left out. */
export const maxTerms = 50_000;

/** A letter or digit of any script, followed by letters, digits and combining marks. */
const word = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/**
 * Returns the terms of a text or a query with their counts, in the order of first occurrence. Terms
 * are words by Unicode's definition, in lower case, with compatibility forms normalised (NFKC). It
 * works the same way for all languages.
 */
export function termCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [term] of fold(text).matchAll(word)) {
    if (term.length > longestTerm) continue;
    const count = counts.get(term);
    if (count !== undefined) counts.set(term, count + 1);
    else if (counts.size < maxTerms) counts.set(term, 1);
  }
  return counts;
}

/** Whether a text has more different terms than are counted. */
export function hasMoreTerms(text: string): boolean {
  // A term and its separator take at least two characters.
  if (text.length < maxTerms * 2) return false;
  const terms = new Set<string>();
  for (const [term] of fold(text).matchAll(word)) {
    if (term.length <= longestTerm) terms.add(term);
    if (terms.size > maxTerms) return true;
  }
  return false;
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
