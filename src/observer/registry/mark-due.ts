import type { CellAddress } from "../../transaction/index.js";
import { hintAddress, hintPrefix } from "../hint/hint.js";
import type { Registry } from "./registry.js";

/** A cell, and the observer that is due on it. */
export interface DueCell {
  readonly observer: string;
  readonly cell: CellAddress;
}

/** How many hints one transaction leaves. */
const hintsAtOnce = 500;

/**
 * Leaves a hint for each, as an import does of what was due where the export was made. The observer
 * need not be registered yet: hints are found by its name, once it is. Harmless if repeated.
 */
export async function markDue(
  registry: Registry,
  due: readonly DueCell[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let at = 0; at < due.length; at += hintsAtOnce) {
    const some = due.slice(at, at + hintsAtOnce);
    await registry.retrying(async () => {
      const tx = await registry.systemTransaction("mark due", signal);
      try {
        for (const { observer, cell } of some) {
          tx.addHint({ observer, address: hintAddress(hintPrefix(observer), cell), cell });
        }
        await tx.commit();
      } finally {
        tx.rollback();
      }
    }, signal);
  }
}
