import { type Database, int, observer, table, text } from "percolatordb";
import { contentsOf, countWrong, type Document, rowOf } from "./verdict.js";

const documents = table("documents", { contents: text(), length: int(), runs: int() });

/** What derives from each update, so that notifications are under the same load. */
const lengths = observer("lengths", documents.contents, async (tx, { row, value }) => {
  tx.set(documents.length, row, value?.length ?? 0);
  tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
});

export const tables = [documents];
export const observers = [lengths];

export interface LoadOptions {
  readonly rows: number;
  readonly bytes: number;
  readonly rate: number;
}

const tickMs = 10;
/** Where the database does not keep up, updates are left out rather than kept waiting: the load is to be constant. */
const maxUnderWay = 500;

/** Updates one row after the other, at a rate. */
export class Load {
  readonly #db: Pick<Database, "transact" | "snapshot">;
  readonly #options: LoadOptions;
  /** By row. One at a time of each, so that the last one that began is the one that stands in the end. */
  readonly #underWay = new Map<number, Promise<void>>();
  #next = 0;
  #isOver = false;
  #running: Promise<void> | undefined;
  /** Updates that were committed. */
  updates = 0;

  constructor(db: Pick<Database, "transact" | "snapshot">, options: LoadOptions) {
    this.#db = db;
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#underWay.values());
  }

  async #run(): Promise<void> {
    const perTick = (this.#options.rate * tickMs) / 1_000;
    let last = performance.now();
    let due = 0;
    while (!this.#isOver) {
      await new Promise((resolve) => setTimeout(resolve, tickMs));
      const now = performance.now();
      due = Math.min(due + (perTick * (now - last)) / tickMs, maxUnderWay);
      last = now;
      for (; due >= 1 && this.#mayUpdate(); due--) this.#update();
    }
  }

  #mayUpdate(): boolean {
    return this.#underWay.size < maxUnderWay && !this.#underWay.has(this.#next % this.#options.rows);
  }

  #update(): void {
    const number = this.#next++;
    const { rows, bytes } = this.#options;
    const row = number % rows;
    const updating = this.#db
      .transact((tx) => tx.set(documents.contents, rowOf(row), contentsOf(number, bytes)))
      .then(() => {
        this.updates++;
      })
      .finally(() => this.#underWay.delete(row));
    this.#underWay.set(row, updating);
  }

  /** How many rows are wrong. To be called when nothing is due any more. */
  async wrong(): Promise<number> {
    await using snapshot = await this.#db.snapshot();
    const found: [string, Document][] = [];
    for await (const { row, value } of snapshot.scan(documents)) found.push([row, value]);
    return countWrong(found, this.#next, this.#options);
  }
}
