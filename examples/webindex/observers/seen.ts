import type { Transaction } from "percolatordb";
import { type AnchorSample, anchorLimits } from "../derive.js";
import { linkPlace } from "../identity.js";
import { clusters, highestRank, links, memberUrl } from "../tables.js";

/**
 * The most members of a small cluster. In a larger cluster many members may move at once, and the
 * runs that move them would all conflict. So `elect` handles larger clusters.
 */
const smallCluster = 8;

/** Caches what one run reads of clusters and links, so that it reads each only once. */
export class Seen {
  readonly #tx: Transaction;
  /** By URL: the anchor texts of the links to a page whose rank was counted. */
  readonly #links = new Map<string, readonly string[]>();
  /** All members of small clusters. */
  readonly #members = new Map<string, readonly string[]>();

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** Returns how many pages link to a page, up to a limit. */
  async rankOf(url: string): Promise<number> {
    const texts: string[] = [];
    for await (const text of this.#linksTo(url, highestRank)) texts.push(text);
    this.#links.set(url, texts);
    return texts.length;
  }

  /**
   * Returns the members of a cluster, or `undefined` if it is large. After this call the run must
   * not change the members, because they are cached.
   */
  async smallCluster(hash: string): Promise<readonly string[] | undefined> {
    const members = await this.#first(hash, smallCluster + 1);
    if (members.length > smallCluster) return undefined;
    this.#members.set(hash, members);
    return members;
  }

  /** Adds the links to a cluster's members to a sample. */
  async sampleAnchors(hash: string, sample: AnchorSample): Promise<void> {
    const members = this.#members.get(hash) ?? (await this.#first(hash, anchorLimits.members));
    for (const url of members) {
      if (sample.left === 0) return;
      const known = this.#links.get(url);
      if (known !== undefined) {
        for (const text of known) sample.add(text);
        continue;
      }
      for await (const text of this.#linksTo(url, sample.left)) sample.add(text);
    }
  }

  /** The anchor texts of the first links to a page, in the order of the linking pages' ids. */
  async *#linksTo(url: string, limit: number): AsyncGenerator<string, void> {
    const { row, prefix } = linkPlace(url);
    for await (const { value } of this.#tx.entries(links.sources, row, { prefix, limit })) yield value;
  }

  async #first(hash: string, limit: number): Promise<string[]> {
    const members: string[] = [];
    for await (const { qualifier } of this.#tx.entries(clusters.members, hash, { limit })) {
      members.push(memberUrl(qualifier));
    }
    return members;
  }
}
