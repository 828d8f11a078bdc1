/** The index as of one snapshot, ready to be searched. */
import type { Snapshot } from "percolatordb";
import { rankTerm, type Statistics } from "../tables.js";
import type { Counts } from "../terms.js";
import { findPage, idOf, placeIn, type TermBlock } from "./decoded.js";
import { IndexCache, type ShardState } from "./index-cache.js";
import { Overlay } from "./overlay.js";
import type { Vocabulary } from "./vocabulary.js";

/** Pages that are scored together: those of one shard, or those that wait to be merged. */
export interface PageGroup {
  readonly lengths: Uint32Array;
  /** Pages that are not scored here, because they wait to be merged. */
  readonly hidden: readonly number[];
}

/** A term with its blocks, one for each group of pages. */
export interface TermPostings {
  readonly blocks: readonly (TermBlock | undefined)[];
  /** For each field, how many pages have the term. */
  readonly frequency: Counts;
}

/** A page by its group, and its number in the group. */
export interface PageAt {
  readonly group: number;
  readonly page: number;
}

export class SearchView {
  readonly snapshot: Snapshot;
  readonly cache: IndexCache;
  /** The shards, and last the waiting pages. */
  readonly groups: readonly PageGroup[];
  readonly statistics: Statistics;
  readonly #shards: readonly ShardState[];
  readonly #overlay: Overlay;
  readonly #terms = new Map<string, Promise<TermPostings>>();

  private constructor(
    snapshot: Snapshot,
    cache: IndexCache,
    shards: readonly ShardState[],
    overlay: Overlay,
  ) {
    this.snapshot = snapshot;
    this.cache = cache;
    this.#shards = shards;
    this.#overlay = overlay;
    this.groups = [
      ...shards.map((shard) => groupOf(shard, overlay)),
      { lengths: overlay.lengths, hidden: [] },
    ];
    this.statistics = overlay.statistics(sumStatistics(shards));
  }

  /** Reads the index of a snapshot, which must stay open. */
  static async read(snapshot: Snapshot, cache = new IndexCache()): Promise<SearchView> {
    const shards = await cache.shards(snapshot);
    return new SearchView(snapshot, cache, shards, await Overlay.read(snapshot, cache));
  }

  /** Finds the pages that have a term. Searches that share the view share the answer. */
  term(term: string): Promise<TermPostings> {
    let found = this.#terms.get(term);
    if (found === undefined) {
      found = this.#readTerm(term);
      this.#terms.set(term, found);
    }
    return found;
  }

  /** The levels of the pages' ranks, as the counts of a term. */
  ranks(): Promise<TermPostings> {
    return this.term(rankTerm);
  }

  /** The words of the index, for suggestions. */
  vocabulary(): Promise<Vocabulary> {
    return this.cache.vocabulary(this.snapshot, this.#shards);
  }

  async #readTerm(term: string): Promise<TermPostings> {
    const merged = await this.cache.blocks(this.snapshot, term, this.#shards);
    const blocks = [...merged, await this.#overlay.find(term)];
    const frequency: [number, number, number] = [0, 0, 0];
    for (const [group, block] of blocks.entries()) {
      if (block !== undefined) addFrequency(frequency, block, this.groups[group]!.hidden);
    }
    return { blocks, frequency };
  }

  id({ group, page }: PageAt): string {
    const shard = this.#shards[group];
    return shard === undefined ? this.#overlay.id(page) : idOf(shard.pages, page);
  }

  async url(at: PageAt): Promise<string> {
    const shard = this.#shards[at.group];
    if (shard === undefined) return this.#overlay.url(at.page);
    return this.cache.url(this.snapshot, shard.name, this.id(at));
  }
}

function groupOf({ name, pages }: ShardState, overlay: Overlay): PageGroup {
  const hidden = overlay.hidden(name).map((id) => findPage(pages, id));
  return { lengths: pages.lengths, hidden: hidden.filter((page) => page >= 0) };
}

function addFrequency(sum: [number, number, number], block: TermBlock, hidden: readonly number[]): void {
  for (const field of [0, 1, 2] as const) sum[field] += block.frequency[field];
  for (const page of hidden) {
    const at = placeIn(block, page);
    if (at < 0) continue;
    for (const field of [0, 1, 2] as const) if (block.counts[at * 3 + field]! > 0) sum[field]--;
  }
}

function sumStatistics(shards: readonly ShardState[]): Statistics {
  let pages = 0;
  const lengths: [number, number, number] = [0, 0, 0];
  for (const { pages: of } of shards) {
    pages += of.statistics.pages;
    for (const field of [0, 1, 2] as const) lengths[field] += of.statistics.lengths[field];
  }
  return { pages, lengths };
}
