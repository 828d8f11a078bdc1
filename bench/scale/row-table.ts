/** What the model knows of rows that several runs write: who has them locked, and when they were last committed. */
export class RowTable {
  readonly #locked = new Set<number>();
  readonly #committed = new Map<number, number>();

  isLocked(row: number): boolean {
    return this.#locked.has(row);
  }

  /** Locks a row for a transaction that started at `start`; false where a lock or a later commit stands in the way. */
  lock(row: number, start: number): boolean {
    if (this.#locked.has(row) || (this.#committed.get(row) ?? -1) > start) return false;
    this.#locked.add(row);
    return true;
  }

  commit(row: number, at: number): void {
    this.#locked.delete(row);
    this.#committed.set(row, at);
  }

  rollback(row: number): void {
    this.#locked.delete(row);
  }
}
