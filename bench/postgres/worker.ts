/** A worker of the pipeline in PostgreSQL. */
import { EventEmitter } from "node:events";
import { Logger, type Runner, run, type Task, type WorkerEvents } from "graphile-worker";
import { Pool, type PoolClient } from "pg";
import { later, restMs } from "../../examples/webindex/work.js";
import { serve } from "../harness/child.js";
import { pause } from "../harness/pause.js";
import { clock, type Moment } from "./pace.js";
import { transact } from "./session.js";
import { steps } from "./tasks/index.js";
import { hasRounds, type TaskName, tasks } from "./tasks/names.js";

export interface WorkerOpening {
  readonly host: string;
  /** The number of concurrent jobs. */
  readonly concurrency: number;
}

const found: Moment[] = [];
let pool: Pool | undefined;
let runner: Runner | undefined;
let rounds: Promise<void> | undefined;
let stopping = false;

/** Runs a task on a batch of due keys. Returns how many keys it took. */
async function performOne(name: TaskName, client: PoolClient): Promise<number> {
  let taken = 0;
  const session = await transact(client, async (each) => {
    const keys = await each.take(name);
    taken = keys.length;
    // If the task took no keys, another job has already taken them.
    if (taken > 0) await steps[name](each, keys);
  });
  const at = clock();
  for (const id of session.found) found.push([id, at]);
  return taken;
}

const perform =
  (name: TaskName): Task =>
  async (_, { withPgClient }) => {
    await withPgClient((client) => performOne(name, client));
  };

/** Runs the tasks that are not needed to find a page. Runs them in rounds, as percolatordb does. */
async function goRounds(from: Pool): Promise<void> {
  for (let round = 0; !stopping; round++) {
    await pause(restMs);
    for (const { name, ms } of later.filter(({ everyRounds }) => round % everyRounds === 0)) {
      const until = performance.now() + ms;
      const client = await from.connect();
      try {
        while (!stopping && performance.now() < until && (await performOne(name, client)) > 0);
      } finally {
        client.release();
      }
    }
  }
}

serve({
  /** Starts the worker. Returns the names under which it locks jobs. */
  async open({ host, concurrency }: WorkerOpening): Promise<string[]> {
    pool = new Pool({
      host,
      user: "postgres",
      database: "postgres",
      // Each concurrent job needs a connection. The others are for the queue and for the rounds.
      max: concurrency + 6,
      // The queue's own statements need no flush, because the queue repeats those that a crash
      // loses. The jobs' transactions turn `synchronous_commit` on again for themselves.
      options: "-c synchronous_commit=off",
    });
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
    const names: string[] = [];
    const events = new EventEmitter() as WorkerEvents;
    events.on("worker:create", ({ worker }) => names.push(worker.workerId));
    runner = await run({
      pgPool: pool,
      concurrency,
      events,
      taskList: Object.fromEntries(Object.keys(tasks).map((name) => [name, perform(name as TaskName)])),
      pollInterval: 1_000,
      noHandleSignals: true,
      logger: new Logger(() => (level, message) => {
        if (level === "error") process.stderr.write(`${message}\n`);
      }),
    });
    if (hasRounds()) rounds = goRounds(pool);
    return names;
  },
  found: () => found,
  async close() {
    stopping = true;
    await runner?.stop();
    await rounds;
    await pool?.end();
  },
});
