import type { CoreTransaction } from "../../transaction/index.js";
import type { Registry } from "./registry.js";

/** How {@link writeInPieces} writes. */
interface Pieces<T> {
  /** Names the transactions. */
  readonly label: string;
  /** The most items that one transaction writes. */
  readonly atOnce: number;
  readonly write: (tx: CoreTransaction, item: T) => void;
  readonly signal: AbortSignal | undefined;
}

/** Writes items in as many system transactions as needed. Each is repeated after a conflict. */
export async function writeInPieces<T>(
  registry: Registry,
  items: readonly T[],
  { label, atOnce, write, signal }: Pieces<T>,
): Promise<void> {
  for (let at = 0; at < items.length; at += atOnce) {
    const some = items.slice(at, at + atOnce);
    await registry.retrying(async () => {
      const tx = await registry.systemTransaction(label, signal);
      try {
        for (const item of some) write(tx, item);
        await tx.commit();
      } finally {
        tx.rollback();
      }
    }, signal);
  }
}
