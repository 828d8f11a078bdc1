/** One worker of the pipeline in PostgreSQL, a process of its own: `worker.ts HOST CONCURRENCY`. */
import { Logger, run, type Task } from "graphile-worker";
import { Pool } from "pg";
import { transact } from "./session.js";
import { jobs } from "./tasks.js";

const [host, concurrency] = [process.argv[2]!, Number(process.argv[3])];
// Each job has a connection of its own, and the queue some.
const pgPool = new Pool({ host, user: "postgres", database: "postgres", max: concurrency + 6 });
pgPool.on("error", () => undefined);
pgPool.on("connect", (client) => client.on("error", () => undefined));

const counts = { jobs: 0, attempts: 0 };
const taskList: Record<string, Task> = {};
for (const [name, job] of Object.entries(jobs)) {
  taskList[name] = async (payload, helpers) => {
    const { row } = payload as { readonly row: string };
    await helpers.withPgClient(async (client) => {
      const attempts = await transact(client, (session) => job(session, row));
      counts.attempts += attempts;
    });
    counts.jobs++;
    if (name === "merge") process.send?.({ merged: row, at: Date.now() });
  };
}

const runner = await run({
  pgPool,
  concurrency,
  taskList,
  pollInterval: 1_000,
  noHandleSignals: true,
  logger: new Logger(() => (level, message) => {
    if (level === "error") process.stderr.write(`${message}\n`);
  }),
});
process.send?.({ started: true });
process.on("message", (message) => {
  if (message !== "stop") return;
  void runner.stop().then(async () => {
    await pgPool.end();
    process.send?.({ counts }, () => process.disconnect());
  });
});
