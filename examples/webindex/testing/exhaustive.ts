/** A search that scores every page by plain functions: the reference for `search/`. */
import type { Snapshot } from "percolatordb";
import { bm25, combine, fieldWeights, priorOf } from "../search/bm25.js";
import { documents, rankTerm } from "../tables.js";
import { type Counts, lengthsOf, parseCounts, parseTerms } from "../terms.js";
import { termCounts } from "../text/index.js";

interface Page {
  readonly url: string;
  readonly lengths: Counts;
  readonly terms: ReadonlyMap<string, string>;
}

/** Every page with at least one of the terms, the best first. Reads only `documents.terms`. */
export async function searchExhaustively(
  view: Snapshot,
  query: string,
): Promise<{ readonly url: string; readonly score: number }[]> {
  const pages: Page[] = [];
  for await (const { row: url, value } of view.scan(documents.terms))
    pages.push({ url, lengths: lengthsOf(value), terms: parseTerms(value) });
  const terms = [...termCounts(query).keys()];
  const found = pages.filter((page) => terms.some((term) => page.terms.has(term)));
  const scored = found.map((page) => ({ url: page.url, score: scorePage(page, terms, pages) }));
  return scored.sort((a, b) => b.score - a.score || (a.url < b.url ? -1 : 1));
}

function scorePage(page: Page, terms: readonly string[], pages: readonly Page[]): number {
  const matched = terms.filter((term) => page.terms.has(term));
  const sum = matched.reduce((before, term) => before + scoreTerm(page, term, pages), 0);
  const [level] = countsIn(page, rankTerm);
  return combine(sum, matched.length, priorOf(level));
}

function scoreTerm(page: Page, term: string, pages: readonly Page[]): number {
  let score = 0;
  const counts = countsIn(page, term);
  for (const field of [0, 1, 2] as const) {
    if (counts[field] === 0) continue;
    const average = pages.reduce((sum, { lengths }) => sum + lengths[field], 0) / pages.length;
    const having = pages.filter((other) => countsIn(other, term)[field] > 0).length;
    const rarity = Math.log(1 + (pages.length - having + 0.5) / (having + 0.5));
    const norm = 1 - bm25.b + (bm25.b * page.lengths[field]) / average;
    const saturated = (counts[field] * (bm25.k1 + 1)) / (counts[field] + bm25.k1 * norm);
    score += fieldWeights[field] * rarity * saturated;
  }
  return score;
}

function countsIn({ terms }: Page, term: string): Counts {
  const stored = terms.get(term);
  return stored === undefined ? [0, 0, 0] : parseCounts(stored);
}
