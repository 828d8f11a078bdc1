import {
  abortError,
  onRejection,
  sleep,
  throwIfAborted,
  underSignals,
  unlessAborted,
} from "../../environment/index.js";
import { ObserverError } from "../../errors/index.js";
import { Quiescence } from "./quiescence.js";
import { type Survey, type SurveyedWork, surveyHints } from "./survey.js";

const waiting = "Waiting until nothing is due";

/** The progress of the work. */
export interface DrainProgress {
  /** Number of runs that have ended since the call. */
  readonly runs: number;
  /**
   * How many changes this process knows and has not handled: waiting, running, or to be retried.
   */
  readonly waiting: number;
  /** Whether the store may hold more changes than this process knows. */
  readonly more: boolean;
}

export interface IdleOptions {
  /** Ends the wait when it is aborted. Workers go on with their work. */
  readonly signal?: AbortSignal | undefined;
  /** Called about four times a second with the progress. If it throws or rejects, the wait ends with its error. */
  readonly onProgress?: ((progress: DrainProgress) => void) | undefined;
}

/** The options of `db.drain` and `db.idle`. All are optional. */
export type DrainOptions = IdleOptions;

/** Work that may become idle: the workers of a process. */
export interface EndingWork extends SurveyedWork {
  /** Whether the store holds more changes than fitted into the queues. */
  readonly hasMore: boolean;
  /** Lets all workers look for hints now. */
  scan(): Promise<void>;
}

interface UntilIdleOptions extends IdleOptions {
  readonly closing: AbortSignal;
  /** A promise to wait for first. */
  readonly after?: Promise<void> | undefined;
  /** Whether hints of observers that no live worker runs are an error. */
  readonly refuseOrphans: boolean;
}

const minPauseMs = 5;
const maxPauseMs = 50;
const progressMs = 250;

/**
 * Waits until nothing is due (protocol §5.11). A hint exists until its run has committed. By then,
 * the changes that the run made have their own hints. One scan that finds no hint is therefore
 * enough.
 */
export async function untilIdle(work: EndingWork, options: UntilIdleOptions): Promise<void> {
  const { signal, closing, after, refuseOrphans } = options;
  const failing = new AbortController();
  const stopProgress = reportProgress(work, options, failing);
  try {
    await whileWaiting([signal, closing, failing.signal], async (either) => {
      if (after !== undefined) await unlessAborted(after, either, waiting);
      await waitUntilIdle(work, either, refuseOrphans);
    });
  } catch (error) {
    throw failing.signal.aborted ? failing.signal.reason : error;
  } finally {
    stopProgress();
  }
}

/** Calls `use` with a signal that follows all of `signals`. If it is aborted, rejects with its error. */
export function whileWaiting<T>(
  signals: readonly (AbortSignal | undefined)[],
  use: (either: AbortSignal) => Promise<T>,
): Promise<T> {
  return underSignals(signals, async (either) => {
    try {
      return await use(either);
    } catch (error) {
      throw either.aborted ? abortError(either, waiting) : error;
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
        // Waits only for background work that has already begun, because new work may begin
        // forever.
        await unlessAborted(registry.context.background.begun(), signal, waiting);
        return;
      }
    }
    // The signal must end this wait too: on a failing store, a worker may never begin.
    await unlessAborted(work.scan(), signal, waiting);
    if (!board.isQuiet) pauseMs = minPauseMs;
    else {
      await sleep(environment, pauseMs, signal, waiting);
      if (pauseMs === maxPauseMs) await sessions.refresh();
    }
  }
}

/**
 * Whether no live worker runs the observers of the remaining hints. Looks twice, since a worker may
 * have started meanwhile, or may not be known here yet.
 */
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
      "declares them, or unregister them.",
  );
}

/** Calls `onProgress` until the returned function is called. If it throws or rejects, aborts `failing` with its error. */
function reportProgress(work: EndingWork, { onProgress }: IdleOptions, failing: AbortController): () => void {
  if (onProgress === undefined) return () => {};
  const { board, registry } = work;
  const { environment } = registry.context;
  const before = board.completed;
  const report = () => {
    const progress = { runs: board.completed - before, waiting: board.size, more: work.hasMore };
    try {
      onRejection(onProgress(progress), (error) => failing.abort(error));
    } catch (error) {
      failing.abort(error);
      return;
    }
    timer = environment.setTimer(report, progressMs, { background: true });
  };
  let timer = environment.setTimer(report, progressMs, { background: true });
  return () => timer.cancel();
}
