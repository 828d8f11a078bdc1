import { type Database, type Environment, systemEnvironment } from "percolatordb";
import { WrongResultError } from "../harness/compare.js";
import { joined, type Repository } from "./repository.js";
import { documents } from "./tables.js";

/** What became of the documents that one crawl brought. */
export interface Crawled {
  readonly loaded: number;
  /**
   * Milliseconds from when a document was due to be loaded to the commit of its clustering,
   * ascending.
   */
  readonly delays: readonly number[];
  /** How many were not clustered when the last had been loaded. */
  readonly late: number;
}

const tickMs = 2;
/**
 * Transactions of the loader at a time; beyond it the crawl is behind, and its documents wait,
 * which counts.
 */
const maxAtOnce = 2_000;

/**
 * Loads documents at a rate, whether the database keeps up or not, and measures how long each takes
 * to be clustered.
 */
export class Crawl {
  readonly #db: Pick<Database, "transact" | "idle">;
  readonly #repository: Repository;
  readonly #environment: Pick<Environment, "monotonic" | "setTimer">;
  /** How often each document was crawled. */
  readonly #crawls: Uint32Array;
  /** When those were due that are loaded and not clustered. */
  readonly #waiting = new Map<string, number>();
  #delays: number[] = [];
  #next = 0;

  constructor(
    db: Pick<Database, "transact" | "idle">,
    repository: Repository,
    environment: Pick<Environment, "monotonic" | "setTimer"> = systemEnvironment,
  ) {
    this.#db = db;
    this.#repository = repository;
    this.#environment = environment;
    this.#crawls = new Uint32Array(repository.size);
  }

  /** To be told when a document's clustering was committed. */
  clustered(url: string): void {
    const due = this.#waiting.get(url);
    if (due === undefined) return;
    this.#waiting.delete(url);
    this.#delays.push(this.#environment.monotonic() - due);
  }

  /** Every document with the keys that it was loaded with last, ascending. */
  *documents(): Generator<readonly [url: string, keys: string]> {
    for (const [index, crawl] of this.#crawls.entries())
      yield [this.#repository.url(index), joined(this.#repository.keys(index, crawl))];
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
   * Crawls for so long, each document by a transaction of its own, and waits until all are
   * clustered. What is due and cannot be loaded yet waits, and that counts. No document comes
   * twice: each has a delay of its own. Throws a `WrongResultError` if one has none.
   */
  async run(perSecond: number, seconds: number): Promise<Crawled> {
    const total = Math.max(1, Math.round(perSecond * seconds));
    if (total > this.#repository.size)
      throw new RangeError(
        `${total} documents should be crawled, but there are only ${this.#repository.size}.`,
      );
    this.#delays = [];
    this.#waiting.clear();
    await this.#loadAll(total, perSecond);
    const late = this.#waiting.size;
    await this.#db.idle();
    const [missing] = this.#waiting.keys();
    if (missing !== undefined) {
      throw new WrongResultError(
        `${this.#waiting.size} of ${total} documents were never clustered, ${missing} among them.`,
      );
    }
    const delays = Float64Array.from(this.#delays).sort();
    return { loaded: total, delays: [...delays], late };
  }

  async #loadAll(total: number, perSecond: number): Promise<void> {
    const now = () => this.#environment.monotonic();
    const began = now();
    const underWay = new Set<Promise<void>>();
    const failures: unknown[] = [];
    for (let loaded = 0; loaded < total; ) {
      const due = Math.min(total, Math.floor(((now() - began) / 1_000) * perSecond) + 1);
      while (loaded < due && underWay.size < maxAtOnce) {
        const loading: Promise<void> = this.#load(began + (loaded / perSecond) * 1_000)
          .catch((error: unknown) => void failures.push(error))
          .finally(() => underWay.delete(loading));
        underWay.add(loading);
        loaded++;
      }
      await new Promise<void>((resolve) => this.#environment.setTimer(resolve, tickMs));
    }
    await Promise.all(underWay);
    if (failures.length > 0) throw failures[0];
  }

  async #load(due: number): Promise<void> {
    const index = this.#next++ % this.#repository.size;
    const crawl = ++this.#crawls[index]!;
    const url = this.#repository.url(index);
    this.#waiting.set(url, due);
    const keys = joined(this.#repository.keys(index, crawl));
    await this.#db.transact(async (tx) => tx.set(documents.keys, url, keys));
  }
}
