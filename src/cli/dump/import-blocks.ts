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
  /** Name of the note in which the database records the progress of this import. */
  readonly note: string;
  readonly cells: BlockCells;
  readonly signal: AbortSignal;
}

/** Writes blocks into a database. One transaction writes a block and records the progress. */
export class BlockImporter {
  /** Count of cells that this importer has written. */
  cells = 0;
  readonly #options: ImportOptions;

  constructor(options: ImportOptions) {
    this.#options = options;
  }

  /** Returns the last block that an earlier run of the same import has written. */
  async done(): Promise<Place | undefined> {
    return await this.#options.db.transact((tx) => this.#noted(tx), { signal: this.#options.signal });
  }

  /** Writes a block, unless an earlier run has written it. */
  async write(block: ReadBlock): Promise<void> {
    const cells = this.#options.cells.of(block);
    const wrote = await this.#transact(async (tx) => {
      const noted = await this.#noted(tx);
      // The block is written already: by another process that runs the same import, or by an
      // earlier attempt whose outcome was unknown.
      if (noted !== undefined && noted.block >= block.block) return false;
      for (const { column, row, value } of cells) tx.set(column, row, value);
      const place: Place = { block: block.block, cells: block.cells };
      tx.setNote(this.#options.note, Buffer.from(JSON.stringify(place)));
      return true;
    });
    if (wrote) this.cells += cells.length;
  }

  /** Makes the export's due changes due here, and removes the progress note. */
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
        // The commit may have succeeded. The next attempt reads the progress note and finds out.
        if (!(error instanceof CommitOutcomeUnknownError) || attempt >= 3) throw error;
      }
    }
  }

  async #noted(tx: Transaction): Promise<Place | undefined> {
    const bytes = await tx.note(this.#options.note);
    return bytes === undefined ? undefined : (JSON.parse(Buffer.from(bytes).toString()) as Place);
  }
}
