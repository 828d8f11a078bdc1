import { type Database, type Environment, systemEnvironment } from "percolatordb";
import { WrongResultError } from "../harness/compare.js";
import { joined, type Repository } from "./repository.js";
import { documents } from "./tables.js";

/** The result for the documents of one crawl. */
export interface Crawled {
  readonly loaded: number;
  /** Milliseconds from the due time of each document to the commit of its clustering, ascending. */
  readonly delays: readonly number[];
  /** How many documents were not clustered when the last was loaded. */
  readonly late: number;
}

const tickMs = 2;
/**
 * The most concurrent transactions of the loader. If more documents are due, they wait, and their
 * wait counts as delay.
 */
const maxAtOnce = 2_000;

/**
 * Loads documents at a fixed rate, whether or not the database keeps up. Measures how long each
 * takes to be clustered.
 */
export class Crawl {
  readonly #db: Pick<Database, "transact" | "idle">;
  readonly #repository: Repository;
  readonly #environment: Pick<Environment, "monotonic" | "setTimer">;
  /** How often each document was crawled. */
  readonly #crawls: Uint32Array;
  /** The due times of documents that are loaded but not clustered yet. */
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

  /** Must be called when a document's clustering was committed. */
  clustered(url: string): void {
    const due = this.#waiting.get(url);
    if (due === undefined) return;
    this.#waiting.delete(url);
    this.#delays.push(this.#environment.monotonic() - due);
  }

  /** Yields every document with its latest keys, ascending. */
  *documents(): Generator<readonly [url: string, keys: string]> {
    for (const [index, crawl] of this.#crawls.entries())
      yield [this.#repository.url(index), joined(this.#repository.keys(index, crawl))];
  }

  /** Loads every document for the first time, many in each transaction. */
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
   * Crawls for a duration, each document in its own transaction, and waits until all are clustered.
   * A document that is due but cannot be loaded yet waits, and the wait counts. No document is
   * crawled twice, so each has one delay. Throws a `WrongResultError` if one has none.
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
