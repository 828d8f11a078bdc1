import type { Command } from "commander";
import type { Database } from "../../database/index.js";
import type { Worker } from "../../observer/index.js";
import type { Cli } from "../cli.js";
import { databaseCommand, parsedBy } from "../command.js";
import { withDatabase } from "../open-database.js";
import { parseCount, parseDuration } from "../time.js";
import { UsageError } from "../usage-error.js";
import { WorkerLog } from "../worker-log.js";

interface WorkerOptions {
  readonly concurrency?: number | undefined;
  readonly observer?: readonly string[] | undefined;
  readonly retention?: number | undefined;
  readonly grace: number;
}

export function addWorker(program: Command, cli: Cli): void {
  databaseCommand(program, "worker", {
    summary: "run the observers of a module",
    description:
      "Registers the tables and observers of a module that default-exports { tables, observers }, and runs the observers " +
      "until SIGTERM or SIGINT. Any number of workers share the work, and what one leaves when it is killed the others do. " +
      "After a signal it begins nothing new, finishes what runs, and ends; after a second one it ends at once. TypeScript " +
      "modules are loaded as they are. The database is made where there is none.",
    examples: [
      "worker ./data ./app.ts",
      "worker ./data ./app.js --concurrency 16 --observer cluster --observer titles",
      "worker ./data ./app.ts --json >> worker.log",
    ],
    json: [
      'A line for each event, with "event" and "time": started {"observers"}, failed and timeout and parked',
      '{"observer","attempts","error"}, backgroundFailure {"doing","error"}, stopping {"signal","running"}, stopped',
      '{"runs","givenUp"}, the runs counted by outcome. Runs that commit are not told one by one.',
    ],
    exit: ["0 after a signal and a clean end; 130 or 143 after a second signal."],
  })
    .argument("<module>", "JavaScript or TypeScript module")
    .option("--concurrency <n>", "runs at the same time (default: 64)", parsedBy(parseCount(1)))
    .option("--observer <name>", "only this observer; can be repeated", collect)
    .option("--retention <duration>", "how much history to keep (default: 1h)", parsedBy(parseDuration))
    .option(
      "--grace <duration>",
      "how long runs may take to end after a signal",
      parsedBy(parseDuration),
      30_000,
    )
    .action((location: string, app: string, options: WorkerOptions) =>
      withDatabase(
        cli,
        {
          location,
          app,
          create: true,
          options: (loaded) => {
            if (loaded === undefined || loaded.observers.length === 0) {
              throw new UsageError(`The module ${app} declares no observers; there is nothing to run.`);
            }
            checkNames(options.observer ?? [], loaded.observers);
            const { tables, observers } = loaded;
            return { tables, observers, retentionMs: options.retention, collectEveryMs: undefined };
          },
        },
        ({ db }) => work(cli, db, options),
      ),
    );
}

function collect(name: string, names: readonly string[] = []): readonly string[] {
  return [...names, name];
}

function checkNames(names: readonly string[], observers: readonly { readonly name: string }[]): void {
  const known = observers.map((observer) => observer.name);
  const missing = names.find((name) => !known.includes(name));
  if (missing === undefined) return;
  throw new UsageError(
    `The module declares no observer ${JSON.stringify(missing)}; it has ${known.join(", ")}.`,
    "OBSERVER",
  );
}

async function work(cli: Cli, db: Database, options: WorkerOptions): Promise<void> {
  const log = new WorkerLog(cli, db);
  const worker = db.work({ observers: options.observer, concurrency: options.concurrency });
  try {
    await log.started(worker);
    await aborted(cli.signal);
    await stop(cli, worker, options.grace, log);
  } finally {
    log.end();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function stop(cli: Cli, worker: Worker, graceMs: number, log: WorkerLog): Promise<void> {
  let givenUp = 0;
  const deadline = cli.environment.setTimer(() => {
    givenUp = worker.running;
  }, graceMs);
  const stopped = worker.stop({ timeoutMs: graceMs });
  try {
    await log.stopping(worker);
    await stopped;
  } finally {
    deadline.cancel();
  }
  await log.stopped(givenUp);
}
