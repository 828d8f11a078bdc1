import type { Database } from "percolatordb";
import { pause } from "../harness/pause.js";
import { contentsOf, documents, rowOf, type Shape, wrongIn } from "./documents.js";

const tickMs = 10;
/**
 * The most updates that run at once, and the most that can be due at once. If the database does not
 * keep up, further updates are left out, because a queue of them would later increase the load.
 */
const maxUnderWay = 500;

export interface LoadOptions extends Shape {
  /** Updates a second. Undefined: as many as `mayBegin` allows. */
  readonly rate?: number | undefined;
  /** Whether another update may begin, given how many have begun. */
  readonly mayBegin?: ((begun: number) => boolean) | undefined;
}

/** Updates one row after another until it is stopped, each in its own transaction. */
export class Load {
  readonly #db: Pick<Database, "transact" | "snapshot">;
  readonly #options: LoadOptions;
  /**
   * Running updates by row. A row has only one at a time, so its updates commit in the order in
   * which they begin.
   */
  readonly #underWay = new Map<number, Promise<void>>();
  #next = 0;
  #isOver = false;
  #running: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Committed updates. */
  updates = 0;

  constructor(db: Pick<Database, "transact" | "snapshot">, options: LoadOptions) {
    this.#db = db;
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when all started updates have ended. Throws if one failed. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.all(this.#underWay.values());
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Returns the wrong rows. Call it when nothing is due any more. */
  wrong(): Promise<readonly string[]> {
    return wrongIn(this.#db, this.#next, this.#options);
  }

  async #run(): Promise<void> {
    const { rate = Number.POSITIVE_INFINITY } = this.#options;
    let last = performance.now();
    let due = 0;
    while (!this.#isOver) {
      await pause(tickMs);
      const now = performance.now();
      due = Math.min(due + (rate * (now - last)) / 1_000, maxUnderWay);
      last = now;
      for (; due >= 1 && this.#mayUpdate(); due--) this.#update();
    }
  }

  #mayUpdate(): boolean {
    const { rows, mayBegin } = this.#options;
    return (
      this.#underWay.size < maxUnderWay &&
      !this.#underWay.has(this.#next % rows) &&
      (mayBegin?.(this.#next) ?? true)
    );
  }

  #update(): void {
    const number = this.#next++;
    const { rows, bytes } = this.#options;
    const row = number % rows;
    const updating = this.#db
      .transact((tx) => tx.set(documents.contents, rowOf(row), contentsOf(number, bytes)), { label: "load" })
      .then(() => {
        this.updates++;
      })
      .catch((error: unknown) => {
        this.#failure ??= { error };
        this.#isOver = true;
      })
      .finally(() => this.#underWay.delete(row));
    this.#underWay.set(row, updating);
  }
}
