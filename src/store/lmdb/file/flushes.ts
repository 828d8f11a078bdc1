import { closeSync, openSync } from "node:fs";
import { arch, endianness } from "node:os";
import { type Environment, sleep } from "../../../environment/index.js";
import type { Databases } from "../record/databases.js";
import { DataFile } from "./pages.js";

/** Tells what of an open file is flushed, by the file itself. */
export interface Flushes {
  /** Number of the newest of LMDB's transactions that is flushed for certain. */
  through(): number;
  /** Resolves when all that is committed now is flushed. */
  flush(): Promise<void>;
  close(): void;
}

/** Looks at the file, so far apart, for the flush of a group that the binding resolved too soon. */
const maxLooks = 60_000;
const lookMs = 1;

/** Flushes until the transaction of that number is; false if the file never says so. */
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
  // Where its heads cannot be read here, the binding is believed.
  const readable = endianness() === "LE" && arch() !== "arm" && arch() !== "ia32";
  const file = readable ? openSync(dataFile, "r") : undefined;
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
