/**
 * Okapi BM25 (Robertson and Zaragoza, 2009) over several fields: a term's score is the weighted sum
 * of its scores in the fields. The length of a field is its number of different terms.
 */
import type { Statistics } from "../tables.js";
import type { Counts } from "../terms.js";

/** `k1` limits the effect of repeated terms. `b` sets the discount for long fields. */
export const bm25 = { k1: 1.2, b: 0.75 } as const;

/** The weight of a term by its field: the text, the title, or the anchors of links to the page. */
export const fieldWeights: Counts = [1, 3, 2];

/**
 * Scores one term in one page. `frequency` is the number of pages that have the term, for each
 * field.
 */
export function scoreTerm(counts: Counts, lengths: Counts, frequency: Counts, all: Statistics): number {
  let score = 0;
  for (const field of [0, 1, 2] as const) {
    const count = counts[field];
    if (count === 0) continue;
    const average = all.lengths[field] / all.pages;
    const norm = 1 - bm25.b + (bm25.b * lengths[field]) / average;
    const saturated = (count * (bm25.k1 + 1)) / (count + bm25.k1 * norm);
    score += fieldWeights[field] * rarity(frequency[field], all.pages) * saturated;
  }
  return score;
}

function rarity(pagesWithTerm: number, pages: number): number {
  return Math.log(1 + (pages - pagesWithTerm + 0.5) / (pagesWithTerm + 0.5));
}
