/** What a transaction checks and changes, by the keys of its cells and the numbers of its tables. */
export interface Footprint {
  readonly guarded: readonly string[];
  readonly written: readonly string[];
  readonly guardedTables: readonly number[];
  readonly writtenTables: readonly number[];
}

/** The last waves that checked and changed a cell, or a table. */
interface Last {
  guarded: number;
  written: number;
}

/**
 * Divides the transactions of a group into waves. The server checks all guards of a wave, and then
 * applies its mutations. The result is as if the transactions ran one after the other:
 *
 * - A transaction that checks or changes a cell is in a later wave than earlier ones that change it.
 * - A transaction that changes a cell is not in an earlier wave than earlier ones that check it.
 *
 * A range guard counts as a check of its whole table.
 */
export class Waves {
  readonly #cells = new Map<string, Last>();
  readonly #tables = new Map<number, Last>();

  /** The wave of the next transaction. Does not add the transaction. */
  of({ guarded, written, guardedTables, writtenTables }: Footprint): number {
    let wave = 0;
    for (const cell of guarded) wave = Math.max(wave, (this.#cells.get(cell)?.written ?? -1) + 1);
    for (const table of guardedTables) wave = Math.max(wave, (this.#tables.get(table)?.written ?? -1) + 1);
    for (const cell of written) {
      const last = this.#cells.get(cell);
      if (last !== undefined) wave = Math.max(wave, last.written + 1, last.guarded);
    }
    for (const table of writtenTables) wave = Math.max(wave, this.#tables.get(table)?.guarded ?? 0);
    return wave;
  }

  /** Adds the transaction to its wave. */
  add({ guarded, written, guardedTables, writtenTables }: Footprint, wave: number): void {
    for (const cell of guarded) note(this.#cells, cell, "guarded", wave);
    for (const cell of written) note(this.#cells, cell, "written", wave);
    for (const table of guardedTables) note(this.#tables, table, "guarded", wave);
    for (const table of writtenTables) note(this.#tables, table, "written", wave);
  }
}

function note<Key>(map: Map<Key, Last>, key: Key, what: keyof Last, wave: number): void {
  let last = map.get(key);
  if (last === undefined) {
    last = { guarded: -1, written: -1 };
    map.set(key, last);
  }
  last[what] = Math.max(last[what], wave);
}
