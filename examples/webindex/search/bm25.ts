/**
 * Okapi BM25 (Robertson and Zaragoza, 2009) over several fields: a term's score is the weighted sum
 * of its scores in the fields. The length of a field is the number of different terms that it has.
 */
import type { Statistics } from "../tables.js";
import type { Counts } from "../terms.js";

/** How soon repetition stops to count, and how much a long field is discounted. */
export const bm25 = { k1: 1.2, b: 0.75 } as const;

/**
 * What a term is worth by where it is: in the text, the title, the anchors of links to the page.
 */
export const fieldWeights: Counts = [1, 3, 2];

/** The score of one term in one page, given in how many pages each field has the term. */
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
