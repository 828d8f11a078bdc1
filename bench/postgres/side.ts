import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FullRun, KillRun, PacedRun } from "./report.js";

/** One way of keeping the index. Each run begins with nothing, in processes of its own. */
export interface Side {
  readonly name: string;
  /** Loads and indexes everything, as fast as it goes. */
  full(): Promise<FullRun>;
  paced(perSecond: number, pages: number): Promise<PacedRun>;
  /** Kills so many milliseconds after the load has begun. */
  kill(killed: KillRun["killed"], afterMs: number): Promise<KillRun>;
}

/**
 * Has one source after the other loaded and indexed to the end, so that each side does the same work; answers the pages that came.
 * None named is one.
 */
export async function loadEach(
  paths: readonly string[],
  load: (paths: readonly string[]) => Promise<number>,
  settle: () => Promise<unknown>,
): Promise<number> {
  let pages = 0;
  for (const few of paths.length === 0 ? [[]] : paths.map((path) => [path])) {
    pages += await load(few);
    await settle();
  }
  return pages;
}

export const secondsSince = (start: number): number => (performance.now() - start) / 1_000;

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-peer-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
