import { type Database, int, observer, table, text } from "percolatordb";

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
const mostUnderWay = 500;

/** Updates one row after the other, at a rate. */
export class Load {
  readonly #db: Database;
  readonly #options: LoadOptions;
  readonly #underWay = new Set<Promise<void>>();
  #next = 0;
  #isOver = false;
  #running: Promise<void> | undefined;
  /** Updates that were committed. */
  updates = 0;

  constructor(db: Database, options: LoadOptions) {
    this.#db = db;
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#underWay);
  }

  async #run(): Promise<void> {
    const perTick = (this.#options.rate * tickMs) / 1_000;
    let last = performance.now();
    let due = 0;
    while (!this.#isOver) {
      await new Promise((resolve) => setTimeout(resolve, tickMs));
      const now = performance.now();
      due = Math.min(due + (perTick * (now - last)) / tickMs, mostUnderWay);
      last = now;
      for (; due >= 1 && this.#underWay.size < mostUnderWay; due--) this.#update();
    }
  }

  #update(): void {
    const number = this.#next++;
    const { rows, bytes } = this.#options;
    const updating = this.#db
      .transact((tx) => tx.set(documents.contents, rowOf(number % rows), contentsOf(number, bytes)))
      .then(() => {
        this.updates++;
      })
      .finally(() => this.#underWay.delete(updating));
    this.#underWay.add(updating);
  }

  /** Rows whose length is not that of their contents. To be called when nothing is due any more. */
  async wrong(): Promise<number> {
    await using snapshot = await this.#db.snapshot();
    let wrong = 0;
    for await (const { value } of snapshot.scan(documents)) {
      if (value.contents?.length !== value.length) wrong++;
    }
    return wrong;
  }
}

const rowOf = (number: number) => `row-${String(number).padStart(8, "0")}`;
/** Of lengths that differ from update to update, so that a missed one is seen. */
const contentsOf = (number: number, bytes: number) => `${number} `.padEnd(bytes + (number % 7), "x");
