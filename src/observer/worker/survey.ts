import { type Position, pages } from "../../store/index.js";
import { readHints } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { RegistryView } from "../registry/view.js";
import { type Activity, Quiescence } from "./quiescence.js";

/** What tells whether somebody runs an observer. */
export interface SurveyedWork extends Activity {
  /** The observers that workers run here, by name. */
  readonly worked: ReadonlyMap<string, Observer>;
}

/** What a look at all standing hints came to. */
export interface Survey {
  /**
   * A hint stands of an observer that a live worker runs, here or elsewhere. The look may have
   * ended there.
   */
  readonly busy: boolean;
  /** Hints of registered observers that nobody runs, by observer. */
  readonly orphans: ReadonlyMap<string, number>;
  /** Some of them were run by one who shows no signs of life, and may be back. */
  readonly mayBeRun: boolean;
  /**
   * Whether it was as good as one look at one moment: nothing ran between its beginning and its
   * end.
   */
  readonly isSnapshot: boolean;
}

interface Counted {
  /** Hints by observer, registered or not. */
  readonly counts: Map<string, number>;
  pages: number;
}

const pageHints = 1_000;
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
  // Read after the hints: their observers were registered before them.
  const { observers } = await freshView(work, counts.keys());
  const orphans = new Map<string, number>();
  let mayBeRun = false;
  for (const [observer, count] of counts) {
    const registered = observers.get(observer);
    if (registered === undefined) continue;
    const { version } = registered.record;
    if (isRun(work, observer, version)) return busy;
    orphans.set(observer, count);
    mayBeRun ||= work.sessions.mayHost(observer, version);
  }
  return { busy: false, orphans, mayBeRun, isSnapshot };
}

/** Undefined where one is of an observer that, by what is known of the registry, is run. */
async function countHints(work: SurveyedWork, signal: AbortSignal | undefined): Promise<Counted | undefined> {
  const { registry } = work;
  const known = await registry.current();
  const counted: Counted = { counts: new Map(), pages: 0 };
  const { store } = registry.context;
  const read = (start?: Position) => readHints(store, { start, end: undefined }, pageHints, signal);
  for await (const page of pages(read)) {
    for (const { observer } of page.hints) {
      const registered = known.observers.get(observer);
      if (registered !== undefined && isRun(work, observer, registered.record.version)) return undefined;
      counted.counts.set(observer, (counted.counts.get(observer) ?? 0) + 1);
    }
    counted.pages++;
  }
  return counted;
}

/**
 * A registry that is no older than the hints: where it is kept for a while, a new observer may not
 * be in it yet.
 */
async function freshView(work: SurveyedWork, observers: Iterable<string>): Promise<RegistryView> {
  const view = await work.registry.fresh();
  for (const observer of observers) if (!view.observers.has(observer)) return work.registry.reload();
  return view;
}

/**
 * Whether a live worker runs an observer; what this process hosts counts as soon as a worker is
 * there.
 */
function isRun(work: SurveyedWork, observer: string, version: number): boolean {
  if (work.worked.get(observer)?.version === version) return true;
  const { sessions } = work;
  return sessions.hosting(observer, version).some((session) => session !== sessions.session);
}
