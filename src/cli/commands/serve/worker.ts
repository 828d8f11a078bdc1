import type { Command } from "commander";
import {
  type DashboardServer,
  LocalSource,
  loadServing,
  type MetricsServer,
  type ReportRequest,
  sharedTables,
} from "../../../dashboard/index.js";
import { type Database, type OpenOptions, openStore } from "../../../database/index.js";
import { backoffDelay, onAbort, sleep } from "../../../environment/index.js";
import type { Worker } from "../../../observer/index.js";
import type { AnyDerivation, AnySchedule } from "../../../recipes/index.js";
import { aborted } from "../../aborted.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { declaredBy, type OpenedDatabase, placeOf, withDatabase } from "../../database/open-database.js";
import {
  addCoordinatorFlags,
  type CoordinatorFlags,
  coordinatorArguments,
} from "../../input/coordinator-flags.js";
import {
  addDashboardFlags,
  type DashboardFlags,
  dashboardArguments,
  dashboardOptions,
} from "../../input/dashboard-flags.js";
import {
  addMetricsFlags,
  type MetricsFlags,
  metricsArguments,
  metricsOptions,
} from "../../input/metrics-flags.js";
import type { App } from "../../input/module.js";
import { exitCodes } from "../../print/exit.js";
import { processVariable, recordVariable } from "../../print/io.js";
import { parseCount, parseDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";
import { ModuleWatch } from "../../worker/module-watch.js";
import { ProcessesSource } from "../../worker/processes-source.js";
import { ReadinessWatch } from "../../worker/readiness-watch.js";
import { Supervisor } from "../../worker/supervisor.js";
import { WorkerLog } from "../../worker/worker-log.js";
import { startWorkerProcess } from "../../worker/worker-process.js";

interface WorkerOptions extends CoordinatorFlags, DashboardFlags, MetricsFlags {
  readonly json?: boolean | undefined;
  readonly processes?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly observer?: readonly string[] | undefined;
  readonly retention?: number | undefined;
  readonly drainDeadline: number;
  readonly watch?: boolean | undefined;
  readonly create: boolean;
}

/**
 * Milliseconds after the drain deadline in which aborted runs may still end. After that, the
 * process exits without waiting for them.
 */
const lastMs = 5_000;
const maxProcesses = 1_024;
/** Between attempts to backfill: short after a lost connection, and few lines of an error that stays. */
const backfilling = { initialMs: 1_000, maximumMs: 30_000 };

export function addWorker(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "worker", {
    summary: "run the observers of a module",
    description:
      "Runs the observers of a module, and the changes that its schedules have due, until SIGTERM or SIGINT. The module " +
      "default-exports { tables, observers, feeds, schedules, derivations, lookups }. The command registers its tables and observers " +
      "first, and creates the database if it does not exist. It backfills derivations that are new or have a new " +
      "version. TypeScript modules need no build. Any number of workers share the " +
      "work. If a worker is killed, the others take over its work. After a signal it starts nothing new, finishes the " +
      "runs in progress, and ends. After a second signal it ends at once. With --processes it starts that many " +
      "processes, restarts those that die, and ends with them. With --watch, for development, it restarts the worker " +
      "when the module or a file that it imports has changed. If the new module has an error, it shows the error and " +
      "waits for the next change.",
    examples: [
      "worker ./data ./app.ts",
      "worker ./data ./app.ts --processes 4",
      "worker ./data ./app.ts --dashboard 4180",
      "worker ./data ./app.ts --watch",
      "worker ./data ./app.js --concurrency 16 --observer cluster --observer titles",
      "worker bigtable://project/instance ./app.js --token-file token --tls-ca ca.pem",
      "worker ./data ./app.ts --json >> worker.log",
    ],
    json: [
      'A line for each event, with "event" and "time": started {"observers","schedules","metrics","dashboard","created"}',
      "(addresses, with --metrics and --dashboard; where it created the database, if there was none), failed and timeout and parked",
      '{"observer","table","column","row","attempts","error","stack","suppressed"}, scheduleFailure {"schedule","key","error"},',
      'derivationFailure {"derivation","error"}, backgroundFailure {"doing","error","suppressed"}, obsolete {"reasons"},',
      'stopping {"signal","running"}, abandoned {"running"}, stopped {"runs","givenUp"}, with "runs" counted by outcome.',
      "Runs that commit have no lines of their own. A backgroundFailure that continues, and failed runs that count as no",
      "attempt (the store is away, or a newer program wrote the value), are printed every 10 s for each kind of work and each",
      'observer; "suppressed" counts those left out since. With',
      '--processes each line of a process has its number as "process", and other text that a process prints is output',
      '{"text"}. Further events are supervising {"processes","dashboard","created"}, exited',
      '{"process","code","signal","restartInMs"}, and last one stopped for all processes',
      '{"processes","runs","restarts"}. With --watch, events of its own are watching {"files"}, changed {"file"} and ended',
      '{"code","signal"}.',
    ],
    exit: [
      "0 after a signal, when all runs have ended; 1 if runs were abandoned at the deadline, or a process keeps dying;",
      "3 if each of its observers was unregistered, or is registered in a newer version or for another column: it has nothing left to run;",
      "130 or 143 after a second signal.",
    ],
  })
    .argument("<module>", "JavaScript or TypeScript module")
    .option(
      "--processes <n>",
      "number of processes that share the work (default: only this one)",
      parsedBy(parseCount(1)),
    )
    .option("--no-create", "fail if the database does not exist, instead of creating it")
    .option("--watch", "restart when the module or a file that it imports has changed; not with --processes")
    .option(
      "--concurrency <n>",
      "runs at the same time in each process (default: 64; fewer for an observer, down to 8, while many of its runs conflict; on a folder, up to 512 while few do)",
      parsedBy(parseCount(1)),
    )
    .option("--observer <name>", "only this observer; can be repeated", collect)
    .option(
      "--retention <duration>",
      "how much history to keep; recorded for all processes (default: the recorded one, 1h at first)",
      parsedBy(parseDuration),
    )
    .option(
      "--drain-deadline <duration>",
      "how long runs may take to end after a signal, before they are abandoned",
      parsedBy(parseDuration),
      30_000,
    );
  addMetricsFlags(command, "; with --processes, each process takes the next port");
  command.option("--insecure", "serve metrics beyond this machine without a token");
  addDashboardFlags(command);
  addCoordinatorFlags(command).action((location: string, app: string, options: WorkerOptions) =>
    cli.untilSignal(() => run(cli, location, app, options)),
  );
}

async function run(cli: Cli, location: string, app: string, options: WorkerOptions): Promise<void> {
  const { processes, watch } = options;
  if (watch) await watchModule(cli, location, app, options);
  else if (processes === undefined) await workHere(cli, location, app, options);
  else await supervise(cli, location, app, processes, options);
}

/**
 * Serves this process's metrics and returns the address. If several processes share the flags, each
 * has its own port.
 */
async function startMetrics(
  cli: Cli,
  db: Database,
  options: WorkerOptions,
  unready: () => string | undefined,
): Promise<MetricsServer | undefined> {
  const number = Number(cli.io.env?.[processVariable] ?? 1);
  const asked = await metricsOptions(cli, options, number);
  if (asked === undefined) return undefined;
  const { serveMetrics } = await loadServing();
  return await serveMetrics(db, {
    ...asked,
    labels: { process: String(number) },
    environment: cli.environment,
    unready,
  });
}

function collect(name: string, names: readonly string[] = []): readonly string[] {
  return [...names, name];
}

async function workHere(cli: Cli, location: string, app: string, options: WorkerOptions): Promise<void> {
  const abandon = new AbortController();
  const request = {
    location,
    app,
    create: options.create,
    coordinator: options,
    abandon: abandon.signal,
    options: (loaded: App | undefined) => checkApp(app, loaded, options),
  };
  await withDatabase(cli, request, (opened) => work(cli, location, opened, options, abandon));
}

function checkApp(app: string, loaded: App | undefined, options: WorkerOptions): OpenOptions {
  if (loaded === undefined || loaded.observers.length + loaded.schedules.length === 0) {
    throw new UsageError(
      `The module ${app} declares no observers and no schedules, so there is nothing to run.`,
    );
  }
  checkNames(options.observer ?? [], loaded.observers);
  return { ...declaredBy(loaded), retentionMs: options.retention, collectEveryMs: undefined };
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

async function work(
  cli: Cli,
  location: string,
  opened: OpenedDatabase,
  options: WorkerOptions,
  abandon: AbortController,
): Promise<void> {
  const { db } = opened;
  const log = new WorkerLog(cli, db);
  const unanswer = await answerForDashboard(cli, opened);
  const readiness = new ReadinessWatch(cli);
  const unready = () => readiness.unready;
  const metrics = await startMetrics(cli, db, options, unready);
  const dashboard = await startDashboard(cli, location, opened, options, unready).catch(
    async (error: unknown) => {
      await metrics?.close();
      throw error;
    },
  );
  const worker = db.work({ observers: options.observer, concurrency: options.concurrency });
  const ending = new AbortController();
  const stopFollowing = onAbort(cli.signal, () => ending.abort());
  if (cli.signal.aborted) ending.abort();
  const schedules = opened.app?.schedules ?? [];
  const scheduled = schedules.map((schedule) => workSchedule(db, schedule, log, ending.signal));
  const backfilled = backfillDerivations(cli, db, opened.app?.derivations ?? [], log, ending.signal);
  try {
    await log.started(
      worker,
      { metrics: metrics?.url, dashboard: dashboard?.url },
      schedules,
      opened.created,
    );
    await Promise.race([aborted(cli.signal), untilObsolete(cli, worker, log, readiness)]);
    ending.abort();
    const isEnded = await stop(cli, worker, options.drainDeadline, log);
    if (!isEnded) abandon.abort();
  } finally {
    stopFollowing();
    ending.abort();
    await Promise.all([...scheduled, backfilled]);
    await dashboard?.close();
    await metrics?.close();
    unanswer();
    log.end();
  }
}

/** Fires the due changes of one schedule until the signal. */
async function workSchedule(
  db: Database,
  schedule: AnySchedule,
  log: WorkerLog,
  signal: AbortSignal,
): Promise<void> {
  await schedule
    .work(db, { signal, onError: (error, change) => log.scheduleFailed(schedule.name, error, change?.key) })
    .catch((error: unknown) => {
      if (!signal.aborted) log.scheduleFailed(schedule.name, error, undefined);
    });
}

/**
 * Makes the derivations that are new, or have a new version, due on the rows that exist. Repeats
 * those that fail until the signal: the store may have been away.
 */
async function backfillDerivations(
  cli: Cli,
  db: Database,
  derivations: readonly AnyDerivation[],
  log: WorkerLog,
  signal: AbortSignal,
): Promise<void> {
  const { environment } = cli;
  let left = derivations;
  for (let attempt = 1; ; attempt++) {
    const failed: AnyDerivation[] = [];
    for (const derivation of left) {
      await derivation.backfill(db, { signal }).catch((error: unknown) => {
        if (signal.aborted) return;
        log.derivationFailed(derivation.name, error);
        failed.push(derivation);
      });
    }
    if (failed.length === 0) return;
    left = failed;
    await sleep(environment, backoffDelay(environment, backfilling, attempt), signal).catch(() => undefined);
  }
}

/** Resolves when the worker has no observer left to run, or after the signal. */
async function untilObsolete(cli: Cli, worker: Worker, log: WorkerLog, watch: ReadinessWatch): Promise<void> {
  const reasons = await watch.untilObsolete(worker);
  if (reasons === undefined) return;
  cli.exitCode = exitCodes.obsolete;
  await log.obsolete(reasons);
}

async function startDashboard(
  cli: Cli,
  location: string,
  { db, app }: OpenedDatabase,
  options: WorkerOptions,
  unready: () => string | undefined,
): Promise<DashboardServer | undefined> {
  if (options.dashboard === undefined) return undefined;
  const { serveDashboard } = await loadServing();
  return await serveDashboard(db, { ...(await dashboardOptions(cli, location, app, options)), unready });
}

/** Records this worker's transactions, and answers the dashboard that its supervisor serves. */
async function answerForDashboard(cli: Cli, { db, app }: OpenedDatabase): Promise<() => void> {
  const { io, environment } = cli;
  if (io.answer === undefined || io.env?.[recordVariable] === undefined) return () => undefined;
  const tables = sharedTables(db, app?.tables ?? [], environment);
  const source = new LocalSource(db, tables, environment);
  const unanswer = io.answer((question) => source.report(question as ReportRequest));
  return () => {
    unanswer();
    source.close();
  };
}

/**
 * Stops the worker from starting runs, and waits for the runs in progress. Returns false if they do
 * not end in time.
 */
async function stop(cli: Cli, worker: Worker, deadlineMs: number, log: WorkerLog): Promise<boolean> {
  let givenUp = 0;
  const deadline = cli.environment.setTimer(() => {
    givenUp = worker.running;
  }, deadlineMs);
  const ending = new AbortController();
  const stopped = worker.stop({ timeoutMs: deadlineMs }).then(() => true);
  const late = sleep(cli.environment, deadlineMs + lastMs, ending.signal).then(
    () => false,
    () => false,
  );
  try {
    await log.stopping(worker);
    const isEnded = await Promise.race([stopped, late]);
    if (givenUp > 0) cli.exitCode = exitCodes.data;
    if (isEnded) await log.stopped(givenUp);
    else await log.abandoned(worker.running);
    return isEnded;
  } finally {
    deadline.cancel();
    ending.abort();
  }
}

/** Restarts the worker when its module changes. */
async function watchModule(cli: Cli, location: string, app: string, options: WorkerOptions): Promise<void> {
  if (options.processes !== undefined) {
    throw new UsageError("--watch runs the worker in one process: leave out --processes.");
  }
  const own = workerArguments(location, app, options, dashboardArguments(options));
  const args = [...selfOf(cli, "--watch"), ...own];
  const { cwd, env = {} } = cli.io;
  const start = () => startWorkerProcess({ args, number: 1, cwd, env, isRecorded: false });
  const killAfterMs = options.drainDeadline + 2 * lastMs;
  await new ModuleWatch({ cli, module: app, start, killAfterMs }).run();
}

/** Returns the command line that starts this program. */
function selfOf({ io: { self } }: Cli, flag: string): readonly string[] {
  if (self !== undefined) return self;
  throw new UsageError(
    `${flag} starts this program again, which is not possible here: another program embeds it. Run \`percolator worker\`.`,
  );
}

async function supervise(
  cli: Cli,
  location: string,
  app: string,
  processes: number,
  options: WorkerOptions,
): Promise<void> {
  if (processes > maxProcesses) {
    throw new UsageError(`--processes takes 1 to ${maxProcesses}, not ${processes}.`);
  }
  const args = [...selfOf(cli, "--processes"), ...workerArguments(location, app, options)];
  if (!options.create) await checkExists(cli, location);
  const { env = {} } = cli.io;
  const isRecorded = options.dashboard !== undefined;
  const run = (dashboard?: string, created?: string) => {
    const supervisor = new Supervisor({
      cli,
      processes,
      dashboard,
      created,
      start: (number) => startWorkerProcess({ args, number, cwd: cli.io.cwd, env, isRecorded }),
      killAfterMs: options.drainDeadline + 2 * lastMs,
    });
    return { supervisor, ended: supervisor.run() };
  };
  if (isRecorded) await superviseSeen(cli, location, app, options, run);
  else await run().ended;
}

/** Fails if there is no database, once instead of in each process. */
async function checkExists(cli: Cli, location: string): Promise<void> {
  const store = await openStore(placeOf(location, cli.io.cwd), { create: false }, cli.environment);
  await store.close();
}

/**
 * Supervises the processes and serves a dashboard. For the dashboard, this process opens the
 * database too, but it runs no observers.
 */
async function superviseSeen(
  cli: Cli,
  location: string,
  app: string,
  options: WorkerOptions,
  run: (
    dashboard: string,
    created: string | undefined,
  ) => { readonly supervisor: Supervisor; readonly ended: Promise<void> },
): Promise<void> {
  const request = {
    location,
    app,
    create: options.create,
    coordinator: options,
    options: (loaded: App | undefined) => ({ ...checkApp(app, loaded, options), collectEveryMs: 0 }),
  };
  await withDatabase(cli, request, async ({ db, app: loaded, created }) => {
    let supervisor: Supervisor | undefined;
    const processes = new ProcessesSource(() => supervisor?.running.values() ?? []);
    const given = await dashboardOptions(cli, location, loaded, options);
    const { serveDashboard } = await loadServing();
    await using dashboard = await serveDashboard(db, { ...given, sources: [processes] });
    const running = run(dashboard.url, created);
    supervisor = running.supervisor;
    await running.ended;
  });
}

/** Returns the command line of one worker process. */
function workerArguments(
  location: string,
  app: string,
  options: WorkerOptions,
  further: readonly string[] = [],
): readonly string[] {
  const { json, create, concurrency, observer = [], retention, drainDeadline } = options;
  return [
    "worker",
    ...(json ? ["--json"] : []),
    ...(create ? [] : ["--no-create"]),
    ...(concurrency === undefined ? [] : ["--concurrency", String(concurrency)]),
    ...observer.flatMap((name) => ["--observer", name]),
    ...(retention === undefined ? [] : ["--retention", String(retention)]),
    ...metricsArguments(options),
    "--drain-deadline",
    String(drainDeadline),
    ...coordinatorArguments(options),
    ...further,
    "--",
    location,
    app,
  ];
}
