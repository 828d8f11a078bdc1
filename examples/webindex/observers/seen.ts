import type { Transaction } from "percolatordb";
import { type AnchorSample, anchorLimits } from "../derive.js";
import { clusters, highestRank, links, memberUrl } from "../tables.js";

/**
 * Larger clusters are left to `elect`: so many of their members may move at once that they would
 * all conflict.
 */
const smallCluster = 8;

/** What one run reads of clusters and of links, so that it reads it once. */
export class Seen {
  readonly #tx: Transaction;
  /** The links to the pages that were counted. */
  readonly #links = new Map<string, readonly string[]>();
  /** Of small clusters, all. */
  readonly #members = new Map<string, readonly string[]>();

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** How many pages link to one, up to a limit. */
  async rankOf(url: string): Promise<number> {
    const texts: string[] = [];
    const options = { limit: highestRank };
    for await (const { value } of this.#tx.entries(links.sources, url, options)) texts.push(value);
    this.#links.set(url, texts);
    return texts.length;
  }

  /** The members of a cluster, which this run changes no more; `undefined` if they are too many. */
  async smallCluster(hash: string): Promise<readonly string[] | undefined> {
    const members = await this.#first(hash, smallCluster + 1);
    if (members.length > smallCluster) return undefined;
    this.#members.set(hash, members);
    return members;
  }

  /** Adds to a sample what links to the members of a cluster. */
  async sampleAnchors(hash: string, sample: AnchorSample): Promise<void> {
    const members = this.#members.get(hash) ?? (await this.#first(hash, anchorLimits.members));
    for (const url of members) {
      if (sample.left === 0) return;
      const known = this.#links.get(url);
      if (known !== undefined) {
        for (const text of known) sample.add(text);
        continue;
      }
      const options = { limit: sample.left };
      for await (const { value } of this.#tx.entries(links.sources, url, options)) sample.add(value);
    }
  }

  async #first(hash: string, limit: number): Promise<string[]> {
    const members: string[] = [];
    for await (const { qualifier } of this.#tx.entries(clusters.members, hash, { limit })) {
      members.push(memberUrl(qualifier));
    }
    return members;
  }
}
