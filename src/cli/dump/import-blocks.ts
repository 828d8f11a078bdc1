import type { Database } from "../../database/index.js";
import { CommitOutcomeUnknownError } from "../../errors/index.js";
import type { Transaction } from "../../transaction/index.js";
import type { BlockCells } from "./block-cells.js";
import type { ReadBlock } from "./block-reader.js";

interface Place {
  readonly block: number;
  readonly cells: number;
}

export interface ImportOptions {
  readonly db: Database;
  /** Under which the database remembers how far this import is. */
  readonly note: string;
  readonly cells: BlockCells;
  readonly signal: AbortSignal;
}

/** Writes blocks into a database, each in a transaction of its own, which also keeps how far it is. */
export class BlockImporter {
  /** Cells written by this one. */
  cells = 0;
  readonly #options: ImportOptions;

  constructor(options: ImportOptions) {
    this.#options = options;
  }

  /** The last block that an earlier import of the same export has written. */
  async done(): Promise<Place | undefined> {
    return await this.#options.db.transact((tx) => this.#noted(tx), { signal: this.#options.signal });
  }

  /** Writes a block, unless that was done. */
  async write(block: ReadBlock): Promise<void> {
    const cells = this.#options.cells.of(block);
    const wrote = await this.#transact(async (tx) => {
      const noted = await this.#noted(tx);
      // Another that imports the same was faster.
      if (noted !== undefined && noted.block >= block.block) return false;
      for (const { column, row, value } of cells) tx.set(column, row, value);
      const place: Place = { block: block.block, cells: block.cells };
      tx.setNote(this.#options.note, Buffer.from(JSON.stringify(place)));
      return true;
    });
    if (wrote) this.cells += cells.length;
  }

  /** Makes due what was due where the export was made, and forgets how far it is: all was written. */
  async finish(): Promise<void> {
    const { db, cells, signal } = this.#options;
    await db.markDue(cells.due(), signal);
    await this.#transact((tx) => tx.setNote(this.#options.note, undefined));
  }

  async #transact<T>(run: (tx: Transaction) => T | Promise<T>): Promise<T> {
    const { db, signal } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.transact(run, { label: "percolator import", signal });
      } catch (error) {
        // The note tells whether it was done.
        if (!(error instanceof CommitOutcomeUnknownError) || attempt >= 3) throw error;
      }
    }
  }

  async #noted(tx: Transaction): Promise<Place | undefined> {
    const bytes = await tx.note(this.#options.note);
    return bytes === undefined ? undefined : (JSON.parse(Buffer.from(bytes).toString()) as Place);
  }
}
