import { runMigrations } from "graphile-worker";
import type { PostgresServer } from "../../examples/support/postgres-server.js";
import { type Child, withChildren } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { secondsSince, withFolder } from "../harness/program.js";
import type { Verdict } from "../webindex/verdict.js";
import type { FullRun, KillRun, PacedRun } from "./figure.js";
import { FlushTimer } from "./flushes.js";
import { delaysOf, type Moment, type PacedLoad } from "./pace.js";
import { schema, settings } from "./schema.js";
import { postmasterOf, withServer } from "./server.js";
import { loadEach, type Side, SideWatch } from "./side.js";
import { setRounds } from "./tasks/names.js";

export interface PostgresOptions {
  readonly workers: number;
  /** Concurrent jobs of each worker. */
  readonly concurrency: number;
  /** How long after a kill the jobs of dead workers are counted. */
  readonly stuckAfterMs: number;
}

const lookMs = 10;

/**
 * The same web index on PostgreSQL and graphile-worker: a server, a loading process, and workers.
 */
export class PostgresSide implements Side {
  readonly name = "PostgreSQL";
  readonly #paths: readonly string[];
  readonly #options: PostgresOptions;

  constructor(paths: readonly string[], options: PostgresOptions) {
    this.#paths = paths;
    this.#options = options;
  }

  full(): Promise<FullRun> {
    return withPipeline(this.#options, async ({ server, startWorkers, startLoader, idle }) => {
      const loader = await startLoader();
      const workers = await startWorkers(this.#options.workers);
      const usage = new SideWatch(
        [loader.pid, ...workers.map(({ child }) => child.pid)],
        postmasterOf(server),
      );
      const started = performance.now();
      const pages = await loadEach(
        this.#paths,
        (paths) => loader.ask<number>("load", paths),
        () => idle([]),
      );
      const seconds = secondsSince(started);
      const used = usage.end();
      const { wrong, problems } = await loader.ask<Verdict>("verify");
      return { pages, seconds, ...used, wrong, problems };
    });
  }

  paced(perSecond: number, pages: number): Promise<PacedRun> {
    return withPipeline(this.#options, ({ startWorkers, startLoader, settled }) =>
      withFolder("peer", async (folder) => {
        setRounds(true);
        const loader = await startLoader();
        const workers = await startWorkers(this.#options.workers);
        const flushes = await FlushTimer.start(folder);
        const load: PacedLoad = { paths: this.#paths, perSecond, pages };
        const due = await loader.ask<Moment[]>("paced", load);
        await settled();
        const flushMs = await flushes.stop();
        const found = await Promise.all(workers.map(({ child }) => child.ask<Moment[]>("found")));
        const { wrong, problems } = await loader.ask<Verdict>("verify");
        return { perSecond, ...delaysOf(due, found.flat()), flushMs, wrong, problems };
      }).finally(() => setRounds(false)),
    );
  }

  kill(killed: KillRun["killed"], afterMs: number): Promise<KillRun> {
    return withPipeline(this.#options, async ({ startWorkers, startLoader, idle, stuck, unlock }) => {
      const one = killed === "one worker";
      let loader = await startLoader();
      const workers = await startWorkers(Math.max(2, this.#options.workers));
      const loading = loader.ask("load", this.#paths).catch((error: unknown) => {
        if (one) throw error;
      });
      await pause(afterMs);
      const started = performance.now();
      const victims = one ? workers.slice(0, 1) : workers;
      await Promise.all(victims.map(({ child }) => child.kill()));
      if (!one) await loader.kill();
      await startWorkers(victims.length);
      if (!one) loader = await startLoader();
      await loading;
      if (!one) await loader.ask("load", this.#paths);
      const dead = victims.flatMap(({ names }) => names);
      await idle(dead);
      const seconds = secondsSince(started);
      await pause(Math.max(0, this.#options.stuckAfterMs - seconds * 1_000));
      const [stuckJobs, afterSeconds] = [await stuck(dead), secondsSince(started)];
      const verdict = await loader.ask<Verdict>("verify");
      const run = { killed, seconds, stuckJobs, afterSeconds, wrong: verdict.wrong };
      if (stuckJobs === 0) return { ...run, unlocked: undefined, problems: verdict.problems };
      const unlocking = performance.now();
      await unlock(dead);
      await idle([]);
      const unlockedSeconds = secondsSince(unlocking);
      const { wrong, problems } = await loader.ask<Verdict>("verify");
      return { ...run, unlocked: { seconds: unlockedSeconds, wrong }, problems };
    });
  }
}

interface StartedWorker {
  readonly child: Child;
  /** The names under which it locks jobs. */
  readonly names: readonly string[];
}

interface Pipeline {
  readonly server: PostgresServer;
  startLoader(): Promise<Child>;
  startWorkers(count: number): Promise<StartedWorker[]>;
  /** Waits until the only jobs left are those that dead workers have locked. */
  idle(dead: readonly string[]): Promise<void>;
  /** Waits until nothing is due, with or without a job. */
  settled(): Promise<void>;
  /** Counts the jobs that these workers have locked. */
  stuck(dead: readonly string[]): Promise<number>;
  unlock(dead: readonly string[]): Promise<void>;
}

/** Runs `use` with a new server and processes on it. */
function withPipeline<T>(
  { concurrency }: PostgresOptions,
  use: (pipeline: Pipeline) => Promise<T>,
): Promise<T> {
  return withServer(settings, async (server, pool) => {
    const jobs = (dead: readonly string[], which: string) =>
      pool.query({
        name: which,
        text: `select 1 from graphile_worker._private_jobs where ${which}`,
        values: [dead],
      });
    const idle = async (dead: readonly string[]) => {
      const one = "locked_by is null or locked_by <> all($1::text[]) limit 1";
      while ((await jobs(dead, one)).rowCount !== 0) await pause(lookMs);
    };
    const isDue = async () => (await pool.query("select 1 from due limit 1")).rowCount !== 0;
    const opening = { host: server.host, concurrency };
    await runMigrations({ pgPool: pool });
    await pool.query(schema);
    return withChildren((start) =>
      use({
        server,
        async startLoader() {
          const child = start(new URL("./postgres-process.ts", import.meta.url), "The loader of PostgreSQL");
          await child.ask("open", opening);
          return child;
        },
        startWorkers: (count) =>
          Promise.all(
            Array.from({ length: count }, async () => {
              const child = start(new URL("./worker.ts", import.meta.url), "A worker of PostgreSQL");
              return { child, names: await child.ask<string[]>("open", opening) };
            }),
          ),
        idle,
        async settled() {
          do await idle([]);
          while ((await isDue()) && (await pause(lookMs)) === undefined);
        },
        stuck: async (dead) => (await jobs(dead, "locked_by = any($1::text[])")).rowCount ?? 0,
        unlock: async (dead) => {
          await pool.query("select graphile_worker.force_unlock_workers($1::text[])", [dead]);
        },
      }),
    );
  });
}
