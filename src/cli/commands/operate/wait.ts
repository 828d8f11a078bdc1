import type { Command } from "commander";
import type { Backlog } from "../../../dashboard/index.js";
import type { Database } from "../../../database/index.js";
import {
  abortError,
  type Environment,
  sleep,
  throwIfAborted,
  underSignals,
} from "../../../environment/index.js";
import { ObserverError, TimeoutError } from "../../../errors/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { countOverdue, countPending, showCount } from "../../database/backlog.js";
import { withDatabase } from "../../database/open-database.js";
import { counted } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration, parseDuration } from "../../time.js";

interface WaitOptions {
  readonly timeout?: number | undefined;
}

const pollMs = 50;
/**
 * Time between two searches for observers without a worker, in milliseconds. The search reads every
 * pending change, so it runs less often than the poll.
 */
const surveyMs = 2_000;

export function addWait(program: Command, cli: Cli): void {
  databaseCommand(program, "wait", {
    summary: "wait until observers have nothing left to do",
    description:
      "Waits until no observer is due on a change, and no schedule is overdue. This includes everything committed " +
      "before, and all changes that follow from it. While programs go on writing, it ends at the first moment at which " +
      "nothing waits, so give --timeout then. Workers in other processes do the work; this command only watches. " +
      "It waits for changes that will be tried again, but not for parked ones. If changes wait for an observer that no " +
      "worker runs, it says so after 2 s.",
    examples: ["wait ./data", "wait ./data --timeout 5m && echo settled"],
    json: ['{"idle":true,"waitedMs"}'],
    exit: ["1 if changes are left when the timeout has passed (TIMEOUT)."],
  })
    .option("--timeout <duration>", "how long to wait (default: no limit)", parsedBy(parseDuration))
    .action((location: string, { timeout }: WaitOptions) =>
      withDatabase(cli, { location }, async ({ db }) => {
        const progress = new Progress(cli);
        await waitUntilIdle(cli, db, progress, timeout).finally(() => progress.end());
        const waitedMs = Math.round(progress.elapsedMs);
        await cli.print({ idle: true, waitedMs }, () => [
          `nothing left to do after ${formatDuration(waitedMs)}`,
        ]);
      }),
    );
}

async function waitUntilIdle(
  cli: Cli,
  db: Database,
  progress: Progress,
  timeoutMs: number = Number.POSITIVE_INFINITY,
): Promise<void> {
  let noted = false;
  /** Observers that no process ran at the last survey. A worker that has just started may not be listed yet. */
  let orphaned: ReadonlySet<string> = new Set();
  const limit = new AbortController();
  if (Number.isFinite(timeoutMs)) {
    cli.environment.setTimer(() => limit.abort(), timeoutMs, { background: true });
  }
  for (let surveyAt = 0; !(await isIdle(db, () => cli.environment.now(), cli.signal, limit.signal)); ) {
    const { elapsedMs } = progress;
    if (elapsedMs >= surveyAt) {
      surveyAt = elapsedMs + surveyMs;
      const waiting = await whatWaits(db, cli.signal);
      progress.show(() => `waiting for ${waiting.map(describe).join(", ")}`);
      const orphans = waiting.filter((each) => each.sessions === 0);
      const still = orphans.filter(({ observer }) => orphaned.has(observer));
      orphaned = new Set(orphans.map(({ observer }) => observer));
      if (still.length > 0 && !noted) {
        noted = true;
        await cli.note(
          `no worker runs ${still.map(describe).join(", ")}; start one, or unregister what no program has any more: ` +
            "percolator unregister LOCATION OBSERVER",
        );
      }
    }
    if (elapsedMs >= timeoutMs) throw await timeoutError(db, timeoutMs, cli.environment.now(), cli.signal);
    await pause(cli.environment, Math.min(pollMs, timeoutMs - elapsedMs), cli.signal);
  }
}

/**
 * Returns whether all work is done: no change is pending, and no scheduled change is overdue. A
 * hint exists until its run has committed. By then, the changes that the run made have hints of
 * their own. The checks do not share a snapshot, so they could miss a run that is active between
 * them. `db.idle` notices such a run. A schedule may fire between the checks, so overdue changes
 * are counted first, and again before the last look for pending ones.
 */
export async function isIdle(
  db: Database,
  nowMs: () => number,
  signal: AbortSignal,
  limit: AbortSignal,
): Promise<boolean> {
  throwIfAborted(signal, "Waiting");
  if (!(await isNothingOverdue(db, nowMs(), signal))) return false;
  if (!(await isNothingPending(db, signal))) return false;
  try {
    await underSignals([signal, limit], (either) => db.idle({ signal: either }));
  } catch (error) {
    if (limit.aborted && !signal.aborted) return false;
    // This command also waits for observers that have no worker. The caller names such observers to
    // the user.
    if (error instanceof ObserverError) return false;
    throw error;
  }
  if (!(await isNothingPending(db, signal))) return false;
  return (await isNothingOverdue(db, nowMs(), signal)) && (await isNothingPending(db, signal));
}

async function isNothingOverdue(db: Database, nowMs: number, signal: AbortSignal): Promise<boolean> {
  const overdue = await countOverdue(db, nowMs, signal);
  return overdue.every(({ count }) => count === 0);
}

async function isNothingPending(db: Database, signal: AbortSignal): Promise<boolean> {
  for await (const _ of db.pending({ signal })) return false;
  return true;
}

interface Waiting {
  readonly observer: string;
  readonly pending: Backlog;
  /** Count of the processes that run the observer. */
  readonly sessions: number;
}

async function whatWaits(db: Database, signal: AbortSignal): Promise<readonly Waiting[]> {
  const { sessions } = await db.status();
  const waiting: Waiting[] = [];
  for (const [observer, { version }] of await db.observers()) {
    const pending = await countPending(db, observer, signal);
    const running = [...sessions.values()].filter(
      (session) => session.observers[observer] === version,
    ).length;
    if (pending.count > 0) waiting.push({ observer, pending, sessions: running });
  }
  return waiting;
}

function describe({ observer, pending }: Waiting): string {
  return `${observer} (${showCount(pending)})`;
}

async function timeoutError(
  db: Database,
  timeoutMs: number,
  nowMs: number,
  signal: AbortSignal,
): Promise<TimeoutError> {
  const waiting = await whatWaits(db, signal);
  const overdue = (await countOverdue(db, nowMs, signal)).filter(({ count }) => count > 0);
  const list = [
    ...waiting.map((each) => `${describe(each)}, run by ${counted(each.sessions, "session")}`),
    ...overdue.map(({ schedule, ...backlog }) => `schedule ${schedule} (${showCount(backlog)} overdue)`),
  ].join("; ");
  return new TimeoutError(
    `Changes are still waiting after ${formatDuration(timeoutMs)}: ${list || "the last ones were handled just now"}. See \`percolator pending\`.`,
  );
}

async function pause(environment: Environment, delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(environment, delayMs, signal);
  } catch {
    throw abortError(signal, "Waiting");
  }
}
