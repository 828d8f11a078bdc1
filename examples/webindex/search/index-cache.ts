/**
 * What searches keep in memory between views of the index. Everything is kept by its version or its
 * hash, so a view never sees what belongs to another moment.
 */
import type { Snapshot } from "percolatordb";
import { bucketOf, shardNames } from "../identity.js";
import { findTerm } from "../postings.js";
import { postings, shards } from "../tables.js";
import { BoundedCache } from "./bounded-cache.js";
import { decodePages, decodeTerm, type ShardPages, sizeOf, type TermBlock } from "./decoded.js";
import { Vocabulary } from "./vocabulary.js";
import type { WaitingTerms } from "./waiting-terms.js";

/** A shard as of one view. */
export interface ShardState {
  readonly name: string;
  /** Changes with every merge. `undefined` for a shard without one: it is not cached. */
  readonly version: number | undefined;
  readonly pages: ShardPages;
}

/** The blocks of a term by shard, each with the version of its shard. */
interface CachedTerm {
  readonly versions: readonly (number | undefined)[];
  readonly blocks: readonly (TermBlock | undefined)[];
}

interface Versioned<T> {
  readonly version: number | undefined;
  readonly value: T;
}

/**
 * The limits of the caches in bytes. The lengths of all pages, 20 bytes each, come on top, and the
 * filters of waiting pages, 1.5 to 3 bytes for each of their terms.
 */
export const cacheBytes = { terms: 64 << 20, texts: 64 << 20, waiting: 32 << 20, urls: 16 << 20 } as const;

const names = shardNames();
const entryBytes = 200;

export class IndexCache {
  /** The most bytes of the texts of waiting pages' terms. */
  readonly waitingBytes: number;
  readonly #shards = new Map<string, Versioned<ShardPages>>();
  readonly #terms = new BoundedCache<string, CachedTerm>(cacheBytes.terms);
  /** The waiting pages of the last view whose terms were read, by id. */
  waiting: ReadonlyMap<string, WaitingTerms> = new Map();
  /** Texts of pages, by hash and Content-Type. */
  readonly texts = new BoundedCache<string, string>(cacheBytes.texts);
  readonly #urls = new BoundedCache<string, string>(cacheBytes.urls);
  #vocabulary: Vocabulary | undefined;
  #readsVocabulary: Promise<Vocabulary> | undefined;

  constructor(waitingBytes: number = cacheBytes.waiting) {
    this.waitingBytes = waitingBytes;
  }

  /** Reads the state of every shard. Decodes only shards that changed since another view. */
  async shards(view: Snapshot): Promise<ShardState[]> {
    const versions = await view.getMany(shards.merged, names);
    // Other views may be read meanwhile, and keep other versions.
    const known = names.map((name, at) => {
      const kept = this.#shards.get(name);
      return versions[at] !== undefined && kept?.version === versions[at] ? kept.value : undefined;
    });
    const changed = names.filter((_, at) => known[at] === undefined);
    const lengths = await view.getMany(shards.lengths, changed);
    const read = new Map(changed.map((name, at) => [name, decodePages(lengths[at])]));
    return names.map((name, at) => {
      const version = versions[at];
      const pages = known[at] ?? read.get(name)!;
      this.#shards.set(name, { version, value: pages });
      return { name, version, pages };
    });
  }

  /** Reads the blocks of a term, one for each of these shards. */
  async blocks(
    view: Snapshot,
    term: string,
    states: readonly ShardState[],
  ): Promise<readonly (TermBlock | undefined)[]> {
    const known = this.#terms.get(term);
    const isStale = ({ version }: ShardState, at: number) =>
      version === undefined || known?.versions[at] !== version;
    const stale = states.filter(isStale);
    if (known !== undefined && stale.length === 0) return known.blocks;
    const read = await readTerm(view, term, stale);
    const blocks = states.map((state, at) => (isStale(state, at) ? read.get(state.name) : known!.blocks[at]));
    const bytes = blocks.reduce((sum, block) => sum + (block === undefined ? 16 : sizeOf(block)), entryBytes);
    this.#terms.set(term, { versions: states.map(({ version }) => version), blocks }, bytes);
    return blocks;
  }

  keepText(key: string, text: string): void {
    this.texts.set(key, text, entryBytes + 2 * text.length);
  }

  /** The words of the index, for suggestions. Searches that need them together read them once. */
  vocabulary(view: Snapshot, states: readonly ShardState[]): Promise<Vocabulary> {
    if (this.#vocabulary?.isCurrent(states)) return Promise.resolve(this.#vocabulary);
    // The search that reads them may be given up, and its snapshot closed. Another one then reads them.
    if (this.#readsVocabulary !== undefined)
      return this.#readsVocabulary.catch(() => this.vocabulary(view, states));
    this.#readsVocabulary = Vocabulary.read(view, states)
      .then((vocabulary) => {
        this.#vocabulary = vocabulary;
        return vocabulary;
      })
      .finally(() => {
        this.#readsVocabulary = undefined;
      });
    return this.#readsVocabulary;
  }

  /** The URL of a page. The id is a hash of it, so it never changes. */
  async url(view: Snapshot, shard: string, id: string): Promise<string> {
    const known = this.#urls.get(id);
    if (known !== undefined) return known;
    const url = (await view.get(shards.urls.at(id), shard))!;
    this.#urls.set(id, url, entryBytes + 2 * url.length);
    return url;
  }
}

async function readTerm(
  view: Snapshot,
  term: string,
  stale: readonly ShardState[],
): Promise<Map<string, TermBlock>> {
  const blocks = new Map<string, TermBlock>();
  const column = postings.documents.at(bucketOf(term));
  const cells = await view.getMany(
    column,
    stale.map(({ name }) => name),
  );
  for (const [at, cell] of cells.entries()) {
    const found = cell && findTerm(cell, term);
    const { name, pages } = stale[at]!;
    if (found !== undefined) blocks.set(name, decodeTerm(found, pages));
  }
  return blocks;
}
