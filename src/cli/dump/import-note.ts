import type { Database } from "../../database/index.js";
import { CommitOutcomeUnknownError, StoreError } from "../../errors/index.js";
import type { Transaction } from "../../transaction/index.js";

const maxAttempts = 3;

/** The note is not as this process has left it. `noted`: what it holds, or undefined if it is gone. */
export function anotherImports(noted: object | undefined): StoreError {
  return new StoreError(
    noted === undefined
      ? "Another process has finished the same import, or restarted it. Do not run this command again: it would not continue."
      : "Another process runs the same import. Let it finish. If it stops before that, run this command again: it continues.",
  );
}

export interface ImportNoteOptions {
  readonly db: Database;
  /** Name of the note in which the database records the progress of one import. */
  readonly note: string;
  readonly signal: AbortSignal;
}

/**
 * How far an import has come. The transaction that writes a part of the import also sets the note, so each part is
 * written by exactly one transaction, even if the process is killed.
 */
export class ImportNote<State> {
  readonly #options: ImportNoteOptions;

  constructor(options: ImportNoteOptions) {
    this.#options = options;
  }

  /**
   * Runs a transaction of the import. Runs it again if its outcome is unknown: it may have committed, so `run` must
   * look at the note first.
   */
  async transact<T>(run: (tx: Transaction) => T | Promise<T>): Promise<T> {
    const { db, signal } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await db.transact(run, { label: "percolator import", signal });
      } catch (error) {
        if (!(error instanceof CommitOutcomeUnknownError) || attempt >= maxAttempts) throw error;
      }
    }
  }

  /** Reads the note as it is now, also in a database that this process cannot write. */
  async now(): Promise<State | undefined> {
    await using snapshot = await this.#options.db.snapshot({ signal: this.#options.signal });
    return await this.read(snapshot);
  }

  async read(tx: Pick<Transaction, "note">): Promise<State | undefined> {
    const bytes = await tx.note(this.#options.note);
    return bytes === undefined ? undefined : (JSON.parse(Buffer.from(bytes).toString()) as State);
  }

  set(tx: Transaction, state: State): void {
    tx.setNote(this.#options.note, Buffer.from(JSON.stringify(state)));
  }

  async forget(): Promise<void> {
    await this.transact((tx) => tx.setNote(this.#options.note, undefined));
  }
}
