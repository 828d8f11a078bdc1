import type { Database } from "percolatordb";
import { joined, type Repository } from "./repository.js";
import { documents } from "./tables.js";

/** What became of the documents that one crawl brought. */
export interface Crawled {
  readonly loaded: number;
  /** Milliseconds from when a document was due to be loaded to the commit of its clustering, ascending. */
  readonly delays: readonly number[];
  /** How many were not clustered when the last had been loaded. */
  readonly late: number;
}

const tickMs = 2;
/** Transactions of the loader at a time; beyond it the crawl is behind, and its documents wait, which counts. */
const mostAtOnce = 2_000;

/** Loads documents at a rate, whether the database keeps up or not, and measures how long each takes to be clustered. */
export class Crawl {
  readonly #db: Database;
  readonly #repository: Repository;
  /** How often each document was crawled. */
  readonly #crawls: Uint32Array;
  readonly #waiting = new Map<string, number>();
  #delays: number[] = [];
  #next = 0;

  constructor(db: Database, repository: Repository) {
    this.#db = db;
    this.#repository = repository;
    this.#crawls = new Uint32Array(repository.size);
  }

  /** To be told when a document's clustering was committed. */
  clustered(url: string): void {
    const due = this.#waiting.get(url);
    if (due === undefined) return;
    this.#waiting.delete(url);
    this.#delays.push(performance.now() - due);
  }

  /** Every document for the first time, many a transaction. */
  async fill(): Promise<void> {
    const { size } = this.#repository;
    const atOnce = 200;
    for (let first = 0; first < size; first += atOnce) {
      await this.#db.transact(async (tx) => {
        for (let index = first; index < Math.min(size, first + atOnce); index++)
          tx.set(documents.keys, this.#repository.url(index), joined(this.#repository.keys(index, 0)));
      });
    }
  }

  /**
   * Crawls for so long, each document by a transaction of its own, and waits until all are clustered. What is due and cannot be loaded
   * yet waits, and that counts.
   */
  async run(perSecond: number, seconds: number): Promise<Crawled> {
    this.#delays = [];
    this.#waiting.clear();
    const began = performance.now();
    const total = Math.max(1, Math.round(perSecond * seconds));
    const underWay = new Set<Promise<void>>();
    for (let loaded = 0; loaded < total; ) {
      const due = Math.min(total, Math.floor(((performance.now() - began) / 1_000) * perSecond) + 1);
      while (loaded < due && underWay.size < mostAtOnce) {
        const loading = this.#load(began + (loaded / perSecond) * 1_000);
        underWay.add(loading);
        void loading.finally(() => underWay.delete(loading));
        loaded++;
      }
      await new Promise((resolve) => setTimeout(resolve, tickMs));
    }
    await Promise.all(underWay);
    const late = this.#waiting.size;
    await this.#db.idle();
    const delays = Float64Array.from(this.#delays).sort();
    return { loaded: total, delays: [...delays], late };
  }

  async #load(due: number): Promise<void> {
    const index = this.#next++ % this.#repository.size;
    const crawl = ++this.#crawls[index]!;
    const url = this.#repository.url(index);
    // A document that comes again before it was clustered is clustered once, for both.
    if (!this.#waiting.has(url)) this.#waiting.set(url, due);
    const keys = joined(this.#repository.keys(index, crawl));
    await this.#db.transact(async (tx) => tx.set(documents.keys, url, keys));
  }
}
