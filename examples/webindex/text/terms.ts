import { visitWords } from "./words.js";

/**
 * The longest term, in UTF-16 code units. Longer words, which are mostly encoded data, are left
 * out.
 */
export const longestTerm = 64;
/** The most different terms of one text. Further terms are left out. */
export const maxTerms = 50_000;

/**
 * Returns the terms of a text or a query with their counts, in the order of first occurrence. Terms
 * are words by Unicode's definition, in lower case, with compatibility forms normalised (NFKC).
 * Dictionaries divide text without spaces, such as Chinese and Japanese (`words.ts`).
 */
export function termCounts(text: string): Map<string, number> {
  return countTerms(text).counts;
}

/** Counts as {@link termCounts}, and says whether the text has more different terms. */
export function countTerms(text: string): {
  readonly counts: Map<string, number>;
  readonly hasMore: boolean;
} {
  const counts = new Map<string, number>();
  let hasMore = false;
  visitWords(fold(text), (term) => {
    if (term.length > longestTerm) return true;
    const count = counts.get(term);
    if (count !== undefined) counts.set(term, count + 1);
    else if (counts.size < maxTerms) counts.set(term, 1);
    else hasMore = true;
    return true;
  });
  return { counts, hasMore };
}

/** Returns the form in which words are compared. */
export function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
