import type { Database } from "../../../src/index.js";
import { int, signal, table, text } from "../../../src/index.js";

/** Cells that the programs write. */
export const cells = table("cells", { value: int(), copy: int(), other: int() });

/** A document with what observers derive from it. */
export const pages = table("pages", { text: text(), length: int(), words: int(), poke: signal() });

/** Sets cells before the clients begin. */
export function startWith(values: Readonly<Record<string, number>>) {
  return (db: Database) =>
    db.transact((tx) => {
      for (const [row, value] of Object.entries(values)) tx.set(cells.value, row, value);
    });
}

/** No retry: a transaction that conflicts fails. */
export const once = { retries: 0 } as const;

/** Throws unless two numbers are equal. */
export function expectEqual(what: string, found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${what} is ${String(found)}, and should be ${String(wanted)}`);
}
