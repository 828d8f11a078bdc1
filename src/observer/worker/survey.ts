import { eventLoopTurn } from "../../environment/index.js";
import { type Position, pages } from "../../store/index.js";
import { readHints, type StandingHint } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import { isCurrent, type RegisteredObserver } from "../registry/registered.js";
import type { RegistryView } from "../registry/view.js";
import { type Activity, Quiescence } from "./quiescence.js";

/** What {@link surveyHints} needs to tell whether a live worker runs an observer. */
export interface SurveyedWork extends Activity {
  /** The observers that workers of this process run, by name. */
  readonly worked: ReadonlyMap<string, Observer>;
}

/** The result of a scan of all hints. */
export interface Survey {
  /**
   * Whether a live worker, of this or another process, runs the observer of one of the hints. The
   * scan may have ended at that hint.
   */
  readonly busy: boolean;
  /** How many hints belong to registered observers that no live worker runs, by observer. */
  readonly orphans: ReadonlyMap<string, number>;
  /** Whether a session without heartbeats ran some of these observers, and may come back. */
  readonly mayBeRun: boolean;
  /**
   * Whether the scan is as good as a single read, because nothing ran between its beginning and its
   * end.
   */
  readonly isSnapshot: boolean;
}

interface Counted {
  /** Number of hints by observer, including unregistered observers. */
  readonly counts: Map<string, number>;
  pages: number;
}

const pageHints = 1_000;
/** Mostly the first hints already belong to an observer that a live worker runs. */
const firstHints = 16;
const busy: Survey = Object.freeze({
  busy: true,
  orphans: new Map<string, number>(),
  mayBeRun: false,
  isSnapshot: false,
});

/** Looks at the hints of all observers. */
export async function surveyHints(
  work: SurveyedWork,
  signal?: AbortSignal,
  quiescence = new Quiescence(work),
): Promise<Survey> {
  const held = await quiescence.begin(signal);
  const counted = await countHints(work, signal);
  if (counted === undefined) return busy;
  const { counts, pages } = counted;
  const isSnapshot =
    (pages === 1 && work.registry.context.store.capabilities.atomicBatches) || (await held());
  // Reads the registry after the hints. It then contains their observers, which were registered
  // before the hints were written.
  const { observers } = await freshView(work, counts.keys());
  const orphans = new Map<string, number>();
  let mayBeRun = false;
  for (const [observer, count] of counts) {
    const registered = observers.get(observer);
    if (registered === undefined) continue;
    if (isRun(work, registered)) return busy;
    orphans.set(observer, count);
    mayBeRun ||= work.sessions.mayHost(observer, registered.record.version);
  }
  return { busy: false, orphans, mayBeRun, isSnapshot };
}

/**
 * Counts the hints by observer. Undefined if it finds a hint of a known observer that a live worker
 * runs.
 */
async function countHints(work: SurveyedWork, signal: AbortSignal | undefined): Promise<Counted | undefined> {
  const { registry } = work;
  const known = await registry.current();
  const isBusy = ({ observer }: StandingHint) => {
    const registered = known.observers.get(observer);
    return registered !== undefined && isRun(work, registered);
  };
  const counted: Counted = { counts: new Map(), pages: 0 };
  const { store, environment } = registry.context;
  const read = (start?: Position, limit = pageHints) =>
    readHints(store, { start, end: undefined }, limit, signal);
  const first = await read(undefined, firstHints);
  if (first.hints.some(isBusy)) return undefined;
  // One page is a snapshot. Longer lists are therefore read again, in few pages.
  for await (const page of first.next === undefined ? [first] : pages(read)) {
    if (page.hints.some(isBusy)) return undefined;
    for (const { observer } of page.hints)
      counted.counts.set(observer, (counted.counts.get(observer) ?? 0) + 1);
    counted.pages++;
    if (page.next !== undefined) await eventLoopTurn(environment);
  }
  return counted;
}

/**
 * Returns a view of the registry that is no older than the hints. A cached view may lack a new
 * observer.
 */
async function freshView(work: SurveyedWork, observers: Iterable<string>): Promise<RegistryView> {
  const view = await work.registry.fresh();
  for (const observer of observers) if (!view.observers.has(observer)) return work.registry.reload();
  return view;
}

/**
 * Whether a live worker runs an observer. For this process, that is true as soon as a worker is
 * assigned the observer.
 */
function isRun(work: SurveyedWork, registered: RegisteredObserver): boolean {
  const { name, record } = registered;
  const worked = work.worked.get(name);
  if (worked !== undefined && isCurrent(registered, worked)) return true;
  const { sessions } = work;
  return sessions.hosting(name, record.version).some((session) => session !== sessions.session);
}
