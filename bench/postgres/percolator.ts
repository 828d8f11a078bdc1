import { type Child, withChildren } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { secondsSince } from "../harness/program.js";
import type { Verdict } from "../webindex/verdict.js";
import type { Engine, Place } from "./engine.js";
import type { FullRun, KillRun, PacedRun } from "./figure.js";
import { delaysOf, type Moment, type PacedLoad } from "./pace.js";
import type { PercolatorOpening } from "./percolator-process.js";
import { loadEach, type Side, SideWatch } from "./side.js";

/** The web index on percolatordb. Each commit is flushed. */
export class PercolatorSide implements Side {
  readonly #engine: Engine;
  readonly #paths: readonly string[];
  readonly #processes: number;

  /**
   * `processes` is the number of working processes after the load, including the one that loads.
   */
  constructor(engine: Engine, paths: readonly string[], processes: number) {
    this.#engine = engine;
    this.#paths = paths;
    this.#processes = processes;
  }

  get name(): string {
    return this.#engine.name;
  }

  full(): Promise<FullRun> {
    return withProcesses(this.#engine, async ({ start, place }) => {
      const all = await Promise.all(Array.from({ length: this.#processes }, () => start("both")));
      const index = all[0]!;
      const usage = new SideWatch(
        all.map(({ pid }) => pid),
        place.server,
      );
      const started = performance.now();
      const pages = await loadEach(
        this.#paths,
        (paths) => index.ask<number>("load", paths),
        () => Promise.all(all.map((each) => each.ask("settle"))),
      );
      const seconds = secondsSince(started);
      const used = usage.end();
      const { wrong, problems } = await index.ask<Verdict>("verify");
      return { pages, seconds, ...used, wrong, problems };
    });
  }

  paced(perSecond: number, pages: number): Promise<PacedRun> {
    return withProcesses(this.#engine, async ({ start, place }) => {
      const index = await start("watched");
      const flushes = await place.timeFlushes();
      const load: PacedLoad = { paths: this.#paths, perSecond, pages };
      const { due, found } = await index.ask<{ due: Moment[]; found: Moment[] }>("paced", load);
      const flushMs = await flushes.stop();
      const { wrong, problems } = await index.ask<Verdict>("verify");
      return { perSecond, ...delaysOf(due, found), flushMs, wrong, problems };
    });
  }

  kill(killed: KillRun["killed"], afterMs: number): Promise<KillRun> {
    return withProcesses(this.#engine, async ({ start }) => {
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
  readonly place: Place;
  start(role: PercolatorOpening["role"]): Promise<Child>;
}

/** Runs `use` with processes on one new database. */
function withProcesses<T>(engine: Engine, use: (processes: Processes) => Promise<T>): Promise<T> {
  return engine.withPlace((place) =>
    withChildren((start) =>
      use({
        place,
        async start(role) {
          const child = start(
            new URL("./percolator-process.ts", import.meta.url),
            `${engine.name} (${role})`,
          );
          const opening: PercolatorOpening = { data: place.location, role };
          await child.ask("open", opening);
          return child;
        },
      }),
    ),
  );
}
