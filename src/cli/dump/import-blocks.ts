import type { BlockCells } from "./block-cells.js";
import type { ReadBlock } from "./block-reader.js";
import { anotherImports, ImportNote, type ImportNoteOptions } from "./import-note.js";

interface Place {
  readonly block: number;
  readonly cells: number;
  /** The importer that wrote the block. Undefined in notes of earlier versions. */
  readonly by?: string | undefined;
}

export interface ImportOptions extends ImportNoteOptions {
  readonly cells: BlockCells;
  /** Tells this importer from all others. */
  readonly id: string;
}

/** Writes blocks into a database. One transaction writes a block and records the progress. */
export class BlockImporter {
  /** Count of cells that this importer has written. */
  cells = 0;
  readonly #options: ImportOptions;
  readonly #note: ImportNote<Place>;

  constructor(options: ImportOptions) {
    this.#options = options;
    this.#note = new ImportNote(options);
  }

  /** Returns the last block that an earlier run of the same import has written. */
  async done(): Promise<Place | undefined> {
    return await this.#note.now();
  }

  /** Marks what observers have handled of a block, after all blocks are written. Returns the number of cells. */
  async acknowledge(block: ReadBlock): Promise<number> {
    const { db, cells, signal } = this.#options;
    const handled = cells.handled(block);
    await db.markHandled(handled, signal);
    return handled.length;
  }

  /** Writes a block, unless an earlier run has written it. */
  async write(block: ReadBlock): Promise<void> {
    const { id } = this.#options;
    const cells = this.#options.cells.of(block);
    const wrote = await this.#note.transact(async (tx) => {
      const noted = await this.#note.read(tx);
      // The block is written already: by another process that runs the same import, or by an
      // earlier attempt whose outcome was unknown.
      if (noted !== undefined && noted.block >= block.block) {
        return noted.block === block.block && noted.by === id;
      }
      // Another process has the note. If it is gone, that process has finished the import.
      if ((noted?.block ?? 0) !== block.block - 1) throw anotherImports(noted);
      for (const { column, row, value } of cells) tx.set(column, row, value);
      const place: Place = { block: block.block, cells: block.cells, by: id };
      this.#note.set(tx, place);
      return true;
    });
    if (wrote) this.cells += cells.length;
  }

  /** Makes the export's due changes due here, and removes the progress note. */
  async finish(): Promise<void> {
    const { db, cells, signal } = this.#options;
    await db.markDue(cells.due, signal);
    await this.#note.forget();
  }
}
