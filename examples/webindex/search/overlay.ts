/**
 * The pages that wait to be merged, overlaid on the postings. A waiting page counts with its current
 * terms, and its entries in the postings are ignored. So every search gives the same answer as if
 * all pages were merged.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Snapshot } from "percolatordb";
import { shardNames } from "../identity.js";
import { documents, type Statistics, shards, type Waiting } from "../tables.js";
import { type Counts, countsOf } from "../terms.js";
import type { TermBlock } from "./decoded.js";
import type { IndexCache } from "./index-cache.js";

/** A page that waits to be merged and can be found. */
interface WaitingPage {
  readonly id: string;
  readonly url: string;
  readonly lengths: Counts;
  /** Changes with the page's terms. */
  readonly version: number;
}

/**
 * How many shards are read concurrently. While a crawl loads, each step of a read waits for steps of
 * the crawl's transactions, so few steps count more than little work.
 */
const shardsAtOnce = 16;
/** After this many waiting pages other requests get a turn. */
const changesAtOnce = 200;

export class Overlay {
  readonly #view: Snapshot;
  readonly #cache: IndexCache;
  readonly #hidden = new Map<string, string[]>();
  readonly #changes: Waiting[] = [];
  readonly #pages: WaitingPage[] = [];
  #terms: Promise<readonly string[]> | undefined;

  private constructor(view: Snapshot, cache: IndexCache) {
    this.#view = view;
    this.#cache = cache;
  }

  static async read(view: Snapshot, cache: IndexCache): Promise<Overlay> {
    const overlay = new Overlay(view, cache);
    const names = shardNames();
    let changes = 0;
    for (let at = 0; at < names.length; at += shardsAtOnce) {
      await Promise.all(names.slice(at, at + shardsAtOnce).map((shard) => overlay.#readShard(shard)));
      if (overlay.#changes.length - changes < changesAtOnce) continue;
      await turn();
      changes = overlay.#changes.length;
    }
    return overlay;
  }

  async #readShard(shard: string): Promise<void> {
    for await (const { qualifier, value } of this.#view.entries(shards.pending, shard))
      this.#add(shard, qualifier, value);
  }

  #add(shard: string, id: string, page: Waiting): void {
    const [url, , lengths, , version] = page;
    const hidden = this.#hidden.get(shard);
    if (hidden === undefined) this.#hidden.set(shard, [id]);
    else hidden.push(id);
    this.#changes.push(page);
    if (lengths !== null) this.#pages.push({ id, url, lengths, version });
  }

  /** Returns the ids of the pages of a shard whose postings are ignored. */
  hidden(shard: string): readonly string[] {
    return this.#hidden.get(shard) ?? [];
  }

  /** The number of waiting pages that can be found. */
  get size(): number {
    return this.#pages.length;
  }

  /** Three lengths for each waiting page. */
  get lengths(): Uint32Array {
    return Uint32Array.from(this.#pages.flatMap(({ lengths }) => lengths));
  }

  url(page: number): string {
    return this.#pages[page]!.url;
  }

  id(page: number): string {
    return this.#pages[page]!.id;
  }

  /** Returns the statistics of all pages, given those of the merged ones. */
  statistics(merged: Statistics): Statistics {
    let pages = merged.pages;
    const lengths: [number, number, number] = [...merged.lengths];
    const add = (sign: 1 | -1, page: Counts | null) => {
      if (page === null) return;
      pages += sign;
      for (const field of [0, 1, 2] as const) lengths[field] += sign * page[field];
    };
    for (const [, , now, before] of this.#changes) {
      add(1, now);
      add(-1, before);
    }
    return { pages, lengths };
  }

  /** Returns the waiting pages that have a term, as a block. */
  async find(term: string): Promise<TermBlock | undefined> {
    this.#terms ??= this.#readTerms();
    const pages: number[] = [];
    const all: number[] = [];
    const frequency: [number, number, number] = [0, 0, 0];
    const highest: [number, number, number] = [0, 0, 0];
    for (const [page, stored] of (await this.#terms).entries()) {
      const counts = countsOf(stored, term);
      if (counts === undefined) continue;
      pages.push(page);
      all.push(...counts);
      for (const field of [0, 1, 2] as const) {
        if (counts[field] > 0) frequency[field]++;
        highest[field] = Math.max(highest[field], counts[field]);
      }
    }
    if (pages.length === 0) return undefined;
    const counts = Uint32Array.from(all);
    return { pages: Uint32Array.from(pages), counts, frequency, highest, shortest: [0, 0, 0] };
  }

  async #readTerms(): Promise<readonly string[]> {
    const known = this.#pages.map(({ url, version }) => this.#cache.waitingTerms(url, version));
    const missing = this.#pages.filter((_, at) => known[at] === undefined);
    const read = await this.#view.getMany(
      documents.terms,
      missing.map(({ url }) => url),
    );
    const found = new Map<string, string>();
    for (const [at, { id, url, version }] of missing.entries()) {
      const terms = read[at] ?? "";
      found.set(id, terms);
      this.#cache.keepWaitingTerms(url, version, terms);
    }
    return this.#pages.map(({ id }, at) => known[at] ?? found.get(id)!);
  }
}
