import { join } from "node:path";
import { type Child, withChildren } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { secondsSince, withFolder } from "../harness/program.js";
import { ProcessWatch } from "../harness/usage.js";
import type { Verdict } from "../webindex/verdict.js";
import type { FullRun, KillRun, PacedRun } from "./figure.js";
import { FlushTimer } from "./flushes.js";
import { delaysOf, type Moment, type PacedLoad } from "./pace.js";
import type { PercolatorOpening } from "./percolator-process.js";
import { loadEach, type Side } from "./side.js";

/** The web index on percolatordb: embedded, with a flush for each commit. */
export class PercolatorSide implements Side {
  readonly name = "percolatordb";
  readonly #paths: readonly string[];
  readonly #processes: number;

  /**
   * `processes` is the number of working processes after the load, including the one that loads.
   */
  constructor(paths: readonly string[], processes: number) {
    this.#paths = paths;
    this.#processes = processes;
  }

  full(): Promise<FullRun> {
    return withProcesses(async ({ start }) => {
      const all = await Promise.all(Array.from({ length: this.#processes }, () => start("both")));
      const index = all[0]!;
      const usage = new ProcessWatch(all.map(({ pid }) => pid));
      const started = performance.now();
      const pages = await loadEach(
        this.#paths,
        (paths) => index.ask<number>("load", paths),
        () => Promise.all(all.map((each) => each.ask("settle"))),
      );
      const seconds = secondsSince(started);
      const used = usage.end();
      const { wrong, problems } = await index.ask<Verdict>("verify");
      return { pages, seconds, ...used, serverCpuSeconds: undefined, wrong, problems };
    });
  }

  paced(perSecond: number, pages: number): Promise<PacedRun> {
    return withProcesses(async ({ start, folder }) => {
      const index = await start("watched");
      const flushes = FlushTimer.lmdb(join(folder, "flushes"));
      const load: PacedLoad = { paths: this.#paths, perSecond, pages };
      const { due, found } = await index.ask<{ due: Moment[]; found: Moment[] }>("paced", load);
      const flushMs = await flushes.stop();
      const { wrong, problems } = await index.ask<Verdict>("verify");
      return { perSecond, ...delaysOf(due, found), flushMs, wrong, problems };
    });
  }

  kill(killed: KillRun["killed"], afterMs: number): Promise<KillRun> {
    return withProcesses(async ({ start }) => {
      const one = killed === "one worker";
      const victim = await start("both");
      const other = one ? await start("both") : undefined;
      const loader = one ? await start("loader") : victim;
      const loading = loader.ask("load", this.#paths).catch((error: unknown) => {
        if (one) throw error;
      });
      await pause(afterMs);
      const started = performance.now();
      await victim.kill();
      const restarted = await start("both");
      await loading;
      if (!one) await restarted.ask("load", this.#paths);
      await (other ?? restarted).ask("settle");
      const seconds = secondsSince(started);
      const { wrong, problems } = await restarted.ask<Verdict>("verify");
      return { killed, seconds, stuckJobs: 0, afterSeconds: seconds, wrong, unlocked: undefined, problems };
    });
  }
}

interface Processes {
  readonly folder: string;
  start(role: PercolatorOpening["role"]): Promise<Child>;
}

/** Runs `use` with processes on one new database. */
function withProcesses<T>(use: (processes: Processes) => Promise<T>): Promise<T> {
  return withFolder("peer", (folder) =>
    withChildren((start) =>
      use({
        folder,
        async start(role) {
          const child = start(new URL("./percolator-process.ts", import.meta.url), `percolatordb (${role})`);
          const opening: PercolatorOpening = { data: join(folder, "database"), role };
          await child.ask("open", opening);
          return child;
        },
      }),
    ),
  );
}
