import { type Parts, whole } from "./parts.js";
import { isAscii, visitWords } from "./words.js";

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
  return whole(countTerms(text)).counts;
}

/** The terms of a text with their counts, and whether the text has more different terms. */
export interface TermCounts {
  readonly counts: Map<string, number>;
  readonly hasMore: boolean;
}

/** Counts as {@link termCounts}, in parts. */
export function* countTerms(text: string): Parts<TermCounts> {
  const counts = new Map<string, number>();
  let hasMore = false;
  const folded = fold(text);
  yield;
  yield* visitWords(folded, (term) => {
    if (term.length > longestTerm) return;
    const count = counts.get(term);
    if (count !== undefined) counts.set(term, count + 1);
    else if (counts.size < maxTerms) counts.set(term, 1);
    else hasMore = true;
  });
  return { counts, hasMore };
}

/** Returns the form in which words are compared. */
export function fold(text: string): string {
  return compatible(text).toLowerCase();
}

/**
 * Runs of more marks than any script puts on one letter (UAX #15, stream-safe text). The halfwidth
 * sound marks become marks in NFKC.
 */
const manyMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/**
 * Returns the compatibility form of a text (NFKC). Long runs of marks are cut, because the time of
 * `normalize` grows with the square of their length.
 */
export function compatible(text: string): string {
  return isAscii(text) ? text : text.replace(manyMarks, "$1").normalize("NFKC");
}
