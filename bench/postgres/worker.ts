/** A worker of the pipeline in PostgreSQL. */
import { EventEmitter } from "node:events";
import { Logger, type Runner, run, type Task, type WorkerEvents } from "graphile-worker";
import { Pool } from "pg";
import { clock, type Moment } from "./pace.js";
import { serve } from "./serve.js";
import { transact } from "./session.js";
import { steps } from "./tasks/index.js";
import { type TaskName, tasks } from "./tasks/names.js";

export interface WorkerOpening {
  readonly host: string;
  /** Jobs at a time. */
  readonly concurrency: number;
}

const found: Moment[] = [];
let pool: Pool | undefined;
let runner: Runner | undefined;

const perform =
  (name: TaskName): Task =>
  (_, { withPgClient }) =>
    withPgClient(async (client) => {
      const session = await transact(client, async (each) => {
        const keys = await each.take(name);
        // None: another job has taken them along.
        if (keys.length > 0) await steps[name](each, keys);
      });
      const at = clock();
      for (const id of session.merged) found.push([id, at]);
    });

serve({
  /** Answers the names under which it locks jobs. */
  async open({ host, concurrency }: WorkerOpening): Promise<string[]> {
    pool = new Pool({
      host,
      user: "postgres",
      database: "postgres",
      // Each job has a connection of its own, and the queue some.
      max: concurrency + 6,
      // For the queue's statements: what a crash takes back of them is done again. The jobs' own commits are flushed.
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
    return names;
  },
  found: () => found,
  async close() {
    await runner?.stop();
    await pool?.end();
  },
});
