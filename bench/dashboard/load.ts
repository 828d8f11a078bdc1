import { type Database, int, observer, open, type Transaction, table, text, type Worker } from "percolatordb";

/** A pipeline under an even load: notes that change so many times a second, each change handled by an observer. */

const notes = table("notes", { body: text(), length: int() });

const observers = [
  observer("length", notes.body, (tx, { row, value = "" }) => tx.set(notes.length, row, value.length)),
];

/** Rows that change, in turn. */
const rows = 5_000;
/** Changes of one transaction. */
const batch = 10;
/** Changes are begun this often, so many at once as the rate asks for. */
const stepMs = 20;

export class Load {
  readonly db: Database;
  readonly #worker: Worker;
  readonly #perSecond: number;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #startedAt = performance.now();
  #begun = 0;
  /** Begun, and not yet committed. */
  #waiting = 0;

  private constructor(db: Database, perSecond: number) {
    this.db = db;
    this.#perSecond = perSecond;
    this.#worker = db.work({ concurrency: 64 });
    this.#timer = setInterval(() => this.#step(), stepMs);
  }

  static async start(perSecond: number): Promise<Load> {
    return new Load(await open("memory:", { tables: [notes], observers, collectEveryMs: 0 }), perSecond);
  }

  #step(): void {
    const due = Math.floor(((performance.now() - this.#startedAt) / 1_000) * this.#perSecond);
    // A machine that cannot do it is not buried under what it did not do.
    if (this.#waiting > this.#perSecond) this.#begun = due;
    for (; this.#begun + batch <= due; this.#begun += batch) void this.#change(this.#begun);
  }

  async #change(first: number): Promise<void> {
    this.#waiting += batch;
    const change = (tx: Transaction) => {
      for (let number = first; number < first + batch; number++) {
        const row = `note ${String(number % rows).padStart(4, "0")}`;
        tx.set(notes.body, row, `word${number} and more`);
      }
    };
    await this.db.transact(change, { label: "load" });
    this.#waiting -= batch;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker.stop();
    await this.db.close();
  }
}
