/**
 * The pages that wait to be merged, overlaid on the postings. A waiting page counts with its current
 * terms, and its entries in the postings are ignored. So every search gives the same answer as if
 * all pages were merged.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Snapshot } from "percolatordb";
import { shardNames, termHash } from "../identity.js";
import { documents, rankTerm, type Statistics, shards, type Waiting } from "../tables.js";
import { type Counts, countsOf } from "../terms.js";
import type { TermBlock } from "./decoded.js";
import type { IndexCache } from "./index-cache.js";
import { WaitingTerms } from "./waiting-terms.js";

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
/** After so many waiting pages other requests get a turn. */
const changesAtOnce = 200;
/** How many pages' terms are read at once. */
const pagesAtOnce = 200;

export class Overlay {
  readonly #view: Snapshot;
  readonly #cache: IndexCache;
  readonly #hidden = new Map<string, string[]>();
  readonly #changes: Waiting[] = [];
  readonly #pages: WaitingPage[] = [];
  #terms: Promise<readonly WaitingTerms[]> | undefined;

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
    for await (const { qualifier, value } of this.#view.entries(shards.waiting, shard))
      this.#add(shard, qualifier, value);
  }

  #add(shard: string, id: string, page: Waiting): void {
    const [url, lengths, , version] = page;
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
    return new Uint32Array(this.#pages.flatMap(({ lengths }) => lengths));
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
    for (const [, now, before] of this.#changes) {
      add(1, now);
      add(-1, before);
    }
    return { pages, lengths };
  }

  /** Returns the waiting pages that have a term, as a block. */
  async find(term: string): Promise<TermBlock | undefined> {
    this.#terms ??= this.#readTerms();
    const terms = await this.#terms;
    const found = new Found();
    if (term === rankTerm) {
      for (const [page, { level }] of terms.entries()) if (level > 0) found.add(page, [level, 0, 0]);
    } else await this.#findIn(terms, term, found);
    return found.block();
  }

  /** Looks for a term in the texts of the pages whose filter has it. */
  async #findIn(terms: readonly WaitingTerms[], term: string, found: Found): Promise<void> {
    const hash = termHash(term);
    const candidates: number[] = [];
    for (let page = 0; page < terms.length; page++) if (terms[page]!.mayHave(hash)) candidates.push(page);
    for (let at = 0; at < candidates.length; at += pagesAtOnce) {
      const few = candidates.slice(at, at + pagesAtOnce);
      const texts = await this.#texts(terms, few);
      for (let index = 0; index < few.length; index++) {
        const counts = countsOf(texts[index]!, term);
        if (counts !== undefined) found.add(few[index]!, counts);
      }
    }
  }

  /** The texts of some pages' terms. Those that are not kept are read again. */
  async #texts(terms: readonly WaitingTerms[], pages: readonly number[]): Promise<readonly string[]> {
    const missing = pages.filter((page) => terms[page]!.text === undefined);
    if (missing.length === 0) return pages.map((page) => terms[page]!.text!);
    const read = (await this.#readTexts(missing)).values();
    return pages.map((page) => terms[page]!.text ?? read.next().value!);
  }

  async #readTexts(pages: readonly number[]): Promise<readonly string[]> {
    const texts = await this.#view.getMany(
      documents.terms,
      pages.map((page) => this.url(page)),
    );
    return texts.map((text) => text ?? "");
  }

  /** Reads the terms of the pages that no view before has read in this version. */
  async #readTerms(): Promise<readonly WaitingTerms[]> {
    const kept = this.#cache.waiting;
    const terms = this.#pages.map(({ id, version }) => {
      const known = kept.get(id);
      return known?.version === version ? known : undefined;
    });
    let room = this.#cache.waitingBytes - terms.reduce((sum, known) => sum + (known?.textBytes ?? 0), 0);
    const missing = [...terms.keys()].filter((page) => terms[page] === undefined);
    for (let at = 0; at < missing.length; at += pagesAtOnce) {
      const few = missing.slice(at, at + pagesAtOnce);
      for (const [index, text] of (await this.#readTexts(few)).entries()) {
        const page = few[index]!;
        const read = new WaitingTerms(this.#pages[page]!.version, text, room);
        room -= read.textBytes;
        terms[page] = read;
      }
      if (at + pagesAtOnce < missing.length) await turn();
    }
    const all = terms as readonly WaitingTerms[];
    this.#cache.waiting = new Map(this.#pages.map(({ id }, page) => [id, all[page]!]));
    return all;
  }
}

/** The pages that have a term. Add them in ascending order. */
class Found {
  readonly #pages: number[] = [];
  readonly #counts: number[] = [];
  readonly #frequency: [number, number, number] = [0, 0, 0];
  readonly #highest: [number, number, number] = [0, 0, 0];

  add(page: number, counts: Counts): void {
    this.#pages.push(page);
    for (const field of [0, 1, 2] as const) {
      const count = counts[field];
      this.#counts.push(count);
      if (count > 0) this.#frequency[field]++;
      if (count > this.#highest[field]) this.#highest[field] = count;
    }
  }

  block(): TermBlock | undefined {
    if (this.#pages.length === 0) return undefined;
    return {
      pages: new Uint32Array(this.#pages),
      counts: new Uint32Array(this.#counts),
      frequency: this.#frequency,
      highest: this.#highest,
      shortest: [0, 0, 0],
    };
  }
}
