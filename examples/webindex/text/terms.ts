/** The longest term, in UTF-16 units. Longer words (encoded data, mostly) are left out. */
export const longestTerm = 64;
/** The most different terms of one text. Further ones are left out. */
export const maxTerms = 50_000;

/**
 * A letter or digit of any script, and what follows it of letters, digits and the marks that belong
 * to them.
 */
const word = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/**
 * The terms of a text, or of a query, with the number of times each occurs, in the order of first
 * occurrence. Words in Unicode's sense, compatibility forms made equal (NFKC), in lower case. No
 * language is favoured or known.
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
  // A term and what parts it from the next are two characters at least.
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
