import { abortError, sleep, throwIfAborted, underSignals, unlessAborted } from "../../environment/index.js";
import { ObserverError } from "../../errors/index.js";
import { Quiescence } from "./quiescence.js";
import { type Survey, type SurveyedWork, surveyHints } from "./survey.js";

const waiting = "Waiting until nothing is due";

/** How far the work is. */
export interface DrainProgress {
  /** Runs that ended since the call. */
  readonly runs: number;
  /** Changes that are known here and not done: waiting, running, or to be tried again. */
  readonly waiting: number;
  /** Whether more may stand in the store than is known here. */
  readonly more: boolean;
}

export interface IdleOptions {
  /** Ends the waiting when aborted; the work goes on where workers stand. */
  readonly signal?: AbortSignal | undefined;
  /** Told about four times a second how far it is. */
  readonly onProgress?: ((progress: DrainProgress) => void) | undefined;
}

/** What `db.drain` and `db.idle` take. Everything has a default. */
export type DrainOptions = IdleOptions;

/** Work that may come to its end. */
export interface EndingWork extends SurveyedWork {
  /** Whether more stands in the store than fitted into the queues. */
  readonly hasMore: boolean;
  /** Lets all workers look for hints now. */
  scan(): Promise<void>;
}

interface UntilIdleOptions extends IdleOptions {
  readonly closing: AbortSignal;
  /** To be waited for first. */
  readonly after?: Promise<void> | undefined;
  /** Whether hints of observers that nobody runs are an error. */
  readonly refuseOrphans: boolean;
}

const minPauseMs = 5;
const maxPauseMs = 50;
const progressMs = 250;

/**
 * Waits until nothing is due (protocol §5.11): a hint stands until its run has committed, and what
 * the run caused has left its own hints by then; so one look that finds none is enough.
 */
export async function untilIdle(work: EndingWork, options: UntilIdleOptions): Promise<void> {
  const { signal, closing, after, refuseOrphans } = options;
  await underSignals([signal, closing], async (either) => {
    const stopProgress = reportProgress(work, options);
    try {
      if (after !== undefined) await unlessAborted(after, either, waiting);
      await waitUntilIdle(work, either, refuseOrphans);
    } catch (error) {
      throw either.aborted ? abortError(either, waiting) : error;
    } finally {
      stopProgress();
    }
  });
}

async function waitUntilIdle(work: EndingWork, signal: AbortSignal, refuseOrphans: boolean): Promise<void> {
  const { board, sessions, registry } = work;
  const { environment } = registry.context;
  const quiescence = new Quiescence(work);
  for (let pauseMs = minPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
    throwIfAborted(signal, waiting);
    await board.whenQuiet(signal);
    const survey = await surveyHints(work, signal, quiescence);
    if (!survey.busy && survey.isSnapshot && board.isQuiet) {
      if (survey.orphans.size === 0 || (await areOrphans(work, quiescence, refuseOrphans, signal))) {
        // Not what others begin meanwhile: they may never stop.
        await unlessAborted(registry.context.background.begun(), signal, waiting);
        return;
      }
    }
    // A worker that cannot begin, because its store fails, is waited for by nobody for ever.
    await unlessAborted(work.scan(), signal, waiting);
    if (!board.isQuiet) pauseMs = minPauseMs;
    else {
      await sleep(environment, pauseMs, signal, waiting);
      if (pauseMs === maxPauseMs) await sessions.refresh();
    }
  }
}

/** Whether nobody runs what stands: somebody may have come meanwhile, or was not yet known here. */
async function areOrphans(
  work: EndingWork,
  quiescence: Quiescence,
  refuseOrphans: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  await work.sessions.refresh();
  const again = await surveyHints(work, signal, quiescence);
  if (again.busy || again.mayBeRun) return false;
  if (again.orphans.size > 0 && refuseOrphans) throw orphansError(again);
  return again.isSnapshot && work.board.isQuiet;
}

function orphansError({ orphans }: Survey): ObserverError {
  const list = [...orphans].map(([name, count]) => `"${name}" (${count})`).join(", ");
  return new ObserverError(
    `Changes wait for observers that no live process runs: ${list}. Give these observers to \`open\`, start a worker that ` +
      "has them, or unregister them.",
  );
}

function reportProgress(work: EndingWork, { onProgress }: IdleOptions): () => void {
  if (onProgress === undefined) return () => {};
  const { board, registry } = work;
  const { environment } = registry.context;
  const before = board.completed;
  const report = () => {
    onProgress({ runs: board.completed - before, waiting: board.size, more: work.hasMore });
    timer = environment.setTimer(report, progressMs, { background: true });
  };
  let timer = environment.setTimer(report, progressMs, { background: true });
  return () => timer.cancel();
}
