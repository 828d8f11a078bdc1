import { ProcessWatch } from "../harness/usage.js";
import type { FullRun, KillRun, PacedRun } from "./figure.js";

/** One implementation of the index. Each run starts empty, in new processes. */
export interface Side {
  readonly name: string;
  /** Loads and indexes everything, as fast as possible. */
  full(): Promise<FullRun>;
  paced(perSecond: number, pages: number): Promise<PacedRun>;
  /** Kills processes `afterMs` after the load has begun. */
  kill(killed: KillRun["killed"], afterMs: number): Promise<KillRun>;
}

/**
 * Loads one source after another and indexes each completely, so that each side does the same work.
 * Resolves to the pages.
 */
export async function loadEach(
  paths: readonly string[],
  load: (paths: readonly string[]) => Promise<number>,
  settle: () => Promise<unknown>,
): Promise<number> {
  let pages = 0;
  // Without a path there is one source, the default.
  for (const few of paths.length === 0 ? [[]] : paths.map((path) => [path])) {
    pages += await load(few);
    await settle();
  }
  return pages;
}

/** Measures the processes of one side: its own, and those of its server if it has one. */
export class SideWatch {
  readonly #own: ProcessWatch;
  readonly #server: ProcessWatch | undefined;

  constructor(own: readonly number[], server: number | undefined) {
    this.#own = new ProcessWatch(own);
    if (server !== undefined) this.#server = new ProcessWatch([server]);
  }

  end(): Pick<FullRun, "cpuSeconds" | "serverCpuSeconds" | "memoryMiB"> {
    const own = this.#own.end();
    const server = this.#server?.end();
    if (server === undefined) return { ...own, serverCpuSeconds: undefined };
    return {
      cpuSeconds: add(own.cpuSeconds, server.cpuSeconds),
      serverCpuSeconds: server.cpuSeconds,
      memoryMiB: add(own.memoryMiB, server.memoryMiB),
    };
  }
}

function add(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other;
}
