/**
 * Okapi BM25 (Robertson and Zaragoza, 2009) over several fields: a term's score is the weighted sum
 * of its scores in the fields. The length of a field is its number of different terms. A page's
 * score also has a part that does not depend on the query: its prior, from the links to it
 * (Craswell et al., 2005).
 */
import { highestLevel, type Statistics } from "../tables.js";
import type { Counts } from "../terms.js";

/** `k1` limits the effect of repeated terms. `b` sets the discount for long fields. */
export const bm25 = { k1: 1.2, b: 0.75 } as const;

/** The weight of a term by its field: the text, the title, or the anchors of links to the page. */
export const fieldWeights: Counts = [1, 3, 2];

/** What the highest rank adds to a score. It is about what one rare term in the text adds. */
const priorWeight = 4;

/**
 * The part of a page's score that its rank gives it. It grows with the logarithm of the rank, as
 * levels do.
 */
export function priorOf(level: number): number {
  return (priorWeight * level) / highestLevel;
}

/** Combines the scores of a page's terms. A page with more of the terms is better. */
export function combine(sum: number, matched: number, prior: number): number {
  return sum * matched + prior;
}

/** Scores one term. `frequency` is the number of pages that have the term, for each field. */
export class TermScorer {
  readonly #weights: Counts;
  readonly #averages: Counts;

  constructor(frequency: Counts, { pages, lengths }: Statistics) {
    const weight = (field: 0 | 1 | 2) => fieldWeights[field] * rarity(frequency[field], pages);
    this.#weights = [weight(0), weight(1), weight(2)];
    this.#averages = [lengths[0] / pages, lengths[1] / pages, lengths[2] / pages];
  }

  /**
   * Returns the score of the page whose counts begin at `at`, and whose lengths begin at `page`.
   * The score rises with each count, and falls with each length.
   */
  score(counts: ArrayLike<number>, at: number, lengths: ArrayLike<number>, page: number): number {
    let score = 0;
    for (let field = 0; field < 3; field++) {
      const count = counts[at + field]!;
      if (count === 0) continue;
      const norm = 1 - bm25.b + (bm25.b * lengths[page + field]!) / this.#averages[field]!;
      score += this.#weights[field]! * ((count * (bm25.k1 + 1)) / (count + bm25.k1 * norm));
    }
    return score;
  }
}

function rarity(pagesWithTerm: number, pages: number): number {
  return Math.log(1 + (pages - pagesWithTerm + 0.5) / (pagesWithTerm + 0.5));
}
