import { closeSync, openSync } from "node:fs";
import { type Environment, sleep } from "../../../environment/index.js";
import type { Databases } from "../record/databases.js";
import { DataFile, readsPages } from "./pages.js";

/** Reads from an open data file which of its transactions are flushed. */
export interface Flushes {
  /** Number of LMDB's newest transaction that is certainly flushed. */
  through(): number;
  /** Resolves when everything committed before the call is flushed. */
  flush(): Promise<void>;
  close(): void;
}

/**
 * The binding may report a flush too soon. This is how often, and how many milliseconds apart, the
 * file is then checked for the flush: in total for about a minute.
 */
const maxLooks = 60_000;
const lookMs = 1;

/**
 * Flushes until the transaction with the number `transaction` is flushed. False if the file does
 * not show the flush in time.
 */
export async function flushThrough(
  flushes: Pick<Flushes, "through" | "flush">,
  transaction: number,
  environment: Environment,
): Promise<boolean> {
  for (let look = 0; flushes.through() < transaction && look < maxLooks; look++) {
    await flushes.flush();
    if (flushes.through() < transaction) await sleep(environment, lookMs);
  }
  return flushes.through() >= transaction;
}

/** The flushes of a data file that is open for writing. */
export function fileFlushes(databases: Pick<Databases, "root">, dataFile: string): Flushes {
  // This code cannot read the file's heads on every platform. If it cannot, the binding's report
  // must be enough.
  const file = readsPages ? openSync(dataFile, "r") : undefined;
  return {
    through() {
      if (file === undefined) return Number.POSITIVE_INFINITY;
      const { pair, flushed } = new DataFile(file, 0).metas();
      const heads = [...pair.filter((head) => head.flushed), ...(flushed === undefined ? [] : [flushed])];
      return Math.max(0, ...heads.map((head) => head.transaction));
    },
    flush() {
      return new Promise((resolve, reject) => {
        databases.root.env.sync((error) => {
          if (error === undefined || error === null) resolve();
          else reject(error instanceof Error ? error : new Error(String(error)));
        });
      });
    },
    close() {
      if (file !== undefined) closeSync(file);
    },
  };
}
