/**
 * Selects the best pages for some terms, by block-max MaxScore (Turtle and Flood, 1995; Ding and
 * Suel, 2011). The pages of a shard are skipped if the bounds of their scores show that none of them
 * can be among the best. In the other shards a page is scored only if it has a term that can make
 * it one of the best. The result is the same as if every page were scored.
 */
import { combine, priorOf, type TermScorer } from "./bm25.js";
import type { TermBlock } from "./decoded.js";
import type { PageAt, PageGroup, TermPostings } from "./view.js";

export interface Candidate extends PageAt {
  readonly score: number;
}

export interface Selection {
  /** How many pages have at least one of the terms. */
  readonly total: number;
  /** The best pages in no order, and all pages whose score equals that of the last of them. */
  readonly best: readonly Candidate[];
}

/** A term with its scorer. */
export interface ScoredTerm extends TermPostings {
  readonly scorer: TermScorer;
}

/** The block of a term in one group of pages, and the most that the term adds to a score there. */
interface BoundedBlock {
  readonly scorer: TermScorer;
  readonly block: TermBlock;
  readonly bound: number;
}

interface BoundedGroup {
  readonly number: number;
  readonly group: PageGroup;
  /** In the order of the query, so that every page's sum is added in the same order. */
  readonly blocks: readonly BoundedBlock[];
  readonly ranks: TermBlock | undefined;
  readonly maxPrior: number;
  readonly bound: number;
}

/** Sums in another order can differ in their last bits, so bounds are a little higher. */
const slack = 1 + 1e-9;

/** The states of a page while its group is scored. */
const [absent, hidden, found, candidate] = [0, 1, 2, 3] as const;

export function selectBest(
  groups: readonly PageGroup[],
  terms: readonly ScoredTerm[],
  ranks: TermPostings,
  most: number,
): Selection {
  const bounded = groups
    .map((group, number) => boundGroup(group, number, terms, ranks.blocks[number]))
    .filter(({ blocks }) => blocks.length > 0)
    // The best groups come first, so that the others can be skipped.
    .sort((a, b) => b.bound - a.bound);
  const scratch = new Scratch(Math.max(0, ...bounded.map(({ group }) => group.lengths.length / 3)));
  const best = new Best(most);
  let total = 0;
  for (const each of bounded) total += scoreGroup(each, best, scratch);
  return { total, best: best.candidates };
}

function boundGroup(
  group: PageGroup,
  number: number,
  terms: readonly ScoredTerm[],
  ranks: TermBlock | undefined,
): BoundedGroup {
  const blocks: BoundedBlock[] = [];
  let sum = 0;
  for (const { blocks: all, scorer } of terms) {
    const block = all[number];
    if (block === undefined) continue;
    const bound = scorer.score(block.highest, 0, block.shortest, 0);
    blocks.push({ scorer, block, bound });
    sum += bound;
  }
  const maxPrior = priorOf(ranks?.highest[0] ?? 0);
  return { number, group, blocks, ranks, maxPrior, bound: combine(sum, blocks.length, maxPrior) * slack };
}

/** Scores the pages of a group that can be among the best. Counts those that have a term. */
function scoreGroup(
  { number, group, blocks, ranks, maxPrior }: BoundedGroup,
  best: Best,
  scratch: Scratch,
): number {
  const { states } = scratch;
  const size = group.lengths.length / 3;
  states.fill(absent, 0, size);
  for (const page of group.hidden) states[page] = hidden;
  const needed = neededBlocks(blocks, maxPrior, best.threshold);
  const total = markPages(states, blocks, needed);
  if (needed.size === 0) return total;
  scratch.clear(size);
  const { sums, matched, levels } = scratch;
  for (const { scorer, block } of blocks) {
    for (let at = 0; at < block.pages.length; at++) {
      const page = block.pages[at]!;
      if (states[page] !== candidate) continue;
      sums[page] = sums[page]! + scorer.score(block.counts, at * 3, group.lengths, page * 3);
      matched[page]!++;
    }
  }
  if (ranks !== undefined)
    for (const [at, page] of ranks.pages.entries()) levels[page] = ranks.counts[at * 3]!;
  for (let page = 0; page < size; page++) {
    if (states[page] !== candidate) continue;
    best.add(number, page, combine(sums[page]!, matched[page]!, priorOf(levels[page]!)));
  }
  return total;
}

/**
 * Returns the blocks of which a page needs at least one to be among the best. Pages that have only
 * terms of the other blocks stay below the threshold.
 */
function neededBlocks(
  blocks: readonly BoundedBlock[],
  maxPrior: number,
  threshold: number,
): ReadonlySet<BoundedBlock> {
  const ascending = [...blocks].sort((a, b) => a.bound - b.bound);
  const needed = new Set(ascending);
  let sum = 0;
  for (const [at, block] of ascending.entries()) {
    sum += block.bound;
    if (combine(sum, at + 1, maxPrior) * slack >= threshold) break;
    needed.delete(block);
  }
  return needed;
}

/** Marks the pages that have a term, and among them the candidates. Returns how many they are. */
function markPages(
  states: Uint8Array,
  blocks: readonly BoundedBlock[],
  needed: ReadonlySet<BoundedBlock>,
): number {
  let total = 0;
  for (const bounded of blocks) {
    const { pages } = bounded.block;
    const mark = needed.has(bounded) ? candidate : found;
    for (let at = 0; at < pages.length; at++) {
      const page = pages[at]!;
      const state = states[page]!;
      if (state === absent) total++;
      if (state !== hidden && state < mark) states[page] = mark;
    }
  }
  return total;
}

/** Arrays by page that all groups of one selection use. */
class Scratch {
  readonly states: Uint8Array;
  readonly sums: Float64Array;
  readonly matched: Uint8Array;
  readonly levels: Uint32Array;

  constructor(size: number) {
    this.states = new Uint8Array(size);
    this.sums = new Float64Array(size);
    this.matched = new Uint8Array(size);
    this.levels = new Uint32Array(size);
  }

  clear(size: number): void {
    this.sums.fill(0, 0, size);
    this.matched.fill(0, 0, size);
    this.levels.fill(0, 0, size);
  }
}

/** The best candidates so far. */
class Best {
  readonly #most: number;
  #kept: Candidate[] = [];
  #cutAt: number;
  #threshold = Number.NEGATIVE_INFINITY;

  constructor(most: number) {
    this.#most = most;
    this.#cutAt = 2 * most;
  }

  /** The lowest score that a page must have to be among the best. */
  get threshold(): number {
    return this.#threshold;
  }

  get candidates(): readonly Candidate[] {
    this.#cut();
    return this.#kept;
  }

  add(group: number, page: number, score: number): void {
    if (score < this.#threshold) return;
    this.#kept.push({ group, page, score });
    if (this.#kept.length >= this.#cutAt) this.#cut();
  }

  /** Drops what is below the last of the best. Keeps what is equal to it. */
  #cut(): void {
    if (this.#kept.length < this.#most) return;
    const scores = Float64Array.from(this.#kept, ({ score }) => score).sort();
    this.#threshold = scores[scores.length - this.#most]!;
    this.#kept = this.#kept.filter(({ score }) => score >= this.#threshold);
    // Many pages may have the same score. Without this they would be sorted at each addition.
    this.#cutAt = 2 * this.#kept.length;
  }
}
