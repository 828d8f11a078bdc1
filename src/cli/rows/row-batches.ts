import { LimitExceededError } from "../../errors/index.js";
import type { Transaction } from "../../transaction/index.js";
import { anotherImports, ImportNote, type ImportNoteOptions } from "../dump/import-note.js";
import type { FilePlace } from "./row-file.js";
import { isOfValue, type ParsedRow } from "./row-mapping.js";

/** How far an import of rows has come. The transaction that writes the rows up to there records it. */
export interface ImportState extends FilePlace {
  /** What the import does. A command that does something else does not continue it. */
  readonly plan: string;
  /** The names of the columns, for a file with a header. */
  readonly header: readonly string[] | null;
  /** Rows and cells written, and records rejected, so far. */
  readonly rows: number;
  readonly cells: number;
  readonly bad: number;
  /** Length of the report of rejected records. */
  readonly badBytes: number;
  /** Path of that report. Undefined if there is none, and in notes of earlier versions. */
  readonly badFile?: string | undefined;
}

/** A row that cannot be written, although each of its values fits. */
export class RefusedRow extends Error {
  readonly row: ParsedRow;

  constructor(row: ParsedRow, cause: Error) {
    super(cause.message, { cause });
    this.row = row;
  }
}

/**
 * Writes batches of rows. One transaction writes a batch and records the state, so each row is written by exactly
 * one transaction, even if the process is killed.
 */
export class RowBatches {
  readonly #note: ImportNote<ImportState>;
  /** The offset of the recorded state, as this process knows it. */
  #offset = 0;

  constructor(options: ImportNoteOptions) {
    this.#note = new ImportNote(options);
  }

  /** The state that an earlier, interrupted run has recorded. */
  async state(): Promise<ImportState | undefined> {
    const state = await this.#note.now();
    this.#offset = state?.offset ?? 0;
    return state;
  }

  /** Forgets the state, so that the import begins at the first record, or has ended. */
  async forget(): Promise<void> {
    await this.#note.forget();
    this.#offset = 0;
  }

  /**
   * Writes the rows, in their order: if two have the same key, the later one wins.
   *
   * @throws RefusedRow if a row cannot be written. Nothing was written.
   */
  async write(rows: readonly ParsedRow[], state: ImportState): Promise<void> {
    await this.#note.transact(async (tx) => {
      const noted = await this.#note.read(tx);
      // An attempt whose outcome was unknown has committed.
      if (noted !== undefined && noted.offset === state.offset) return;
      if ((noted?.offset ?? 0) !== this.#offset) throw anotherImports(noted);
      for (const row of rows) await writeRow(tx, row);
      this.#note.set(tx, state);
    });
    this.#offset = state.offset;
  }
}

async function writeRow(tx: Transaction, row: ParsedRow): Promise<void> {
  for (const { writer, value } of row.cells) {
    try {
      const written = writer.set(tx, row.row, value);
      if (written !== undefined) await written;
    } catch (error) {
      // Such as a value that a unique constraint refuses.
      if (isOfValue(error)) throw new RefusedRow(row, error);
      if (error instanceof LimitExceededError) {
        const advice = "Divide them over several records with the same key";
        throw new RefusedRow(row, new Error(`its cells do not fit into one transaction. ${advice}`));
      }
      throw error;
    }
  }
}
