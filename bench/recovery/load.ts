import type { Database } from "percolatordb";
import { documents } from "./app.js";
import { contentsOf, type Document, rowOf, wrongDocuments } from "./verdict.js";

const writers = 16;
/** So many changes are kept waiting: enough that no worker is ever idle. */
const maxWaiting = 400;

/** Writes new documents as long as it is let, somewhat ahead of the workers; each is one change to be handled. */
export class Load {
  readonly #db: Database;
  /** Runs that workers have told of. */
  readonly #handled: () => number;
  #running: Promise<unknown> | undefined;
  #isOver = false;
  #next = 0;
  /** Changes that were told committed. */
  changes = 0;

  constructor(db: Database, handled: () => number) {
    this.#db = db;
    this.#handled = handled;
  }

  start(): void {
    this.#running = Promise.all(Array.from({ length: writers }, () => this.#write()));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #write(): Promise<void> {
    while (!this.#isOver) {
      if (this.changes - this.#handled() >= maxWaiting) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
      const number = this.#next++;
      await this.#db.transact((tx) => tx.set(documents.contents, rowOf(number), contentsOf(number)));
      this.changes++;
    }
  }

  /** What is wrong with the documents. To be called when nothing is due any more. */
  async wrong(): Promise<readonly string[]> {
    await using snapshot = await this.#db.snapshot();
    const found: [string, Document][] = [];
    for await (const { row, value } of snapshot.scan(documents)) found.push([row, value]);
    return wrongDocuments(found, this.#next);
  }
}
