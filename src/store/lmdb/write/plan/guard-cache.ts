import { equalBytes } from "../../../bytes.js";
import type { Guard } from "../../../mutation.js";

interface Remembered {
  readonly row: Uint8Array;
  readonly guard: Guard;
  readonly held: boolean;
}

/**
 * Maximum number of results that are remembered for a table. Fewer guards than this repeat within a
 * group, and the results of all other guards need not be remembered.
 */
const maxRemembered = 32;

/**
 * Remembers the results of guards on system rows, such as the safepoint and the registry's
 * generation. Every batch of a group repeats these guards as the same objects. A cache serves one
 * group. A mutation of a row discards the results of the guards on that row.
 */
export class GuardCache {
  readonly #tables = new Map<string, Remembered[]>();

  /** Whether the cache covers guards on `table`: system tables, whose names begin with `~`. */
  static covers(table: string): boolean {
    return table.charCodeAt(0) === 0x7e;
  }

  get(table: string, row: Uint8Array, guard: Guard): boolean | undefined {
    const known = this.#tables.get(table);
    if (known === undefined) return undefined;
    for (const each of known) if (each.guard === guard && equalBytes(each.row, row)) return each.held;
    return undefined;
  }

  set(table: string, row: Uint8Array, guard: Guard, held: boolean): void {
    let known = this.#tables.get(table);
    if (known === undefined) {
      known = [];
      this.#tables.set(table, known);
    }
    if (known.length >= maxRemembered) known.shift();
    known.push({ row, guard, held });
  }

  /** Discards the results for `row`, which is about to change. */
  forget(table: string, row: Uint8Array): void {
    const known = this.#tables.get(table);
    if (known === undefined) return;
    for (let i = known.length - 1; i >= 0; i--) if (equalBytes(known[i]!.row, row)) known.splice(i, 1);
  }
}
