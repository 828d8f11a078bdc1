import { readHints } from "./hint.js";
import type { WorkerPool } from "./pool.js";

/** What a look at all standing hints came to. */
export interface Survey {
  /** A hint stands of an observer that a live worker runs, here or elsewhere. The look ended there. */
  readonly busy: boolean;
  /** Hints of registered observers that nobody runs, by observer. */
  readonly orphans: ReadonlyMap<string, number>;
  /** Whether it was as good as one look at one moment: nothing was committed between its beginning and its end. */
  readonly isSnapshot: boolean;
}

const pageHints = 1_000;

/** Looks at the hints of all observers. */
export async function surveyHints(pool: WorkerPool, signal?: AbortSignal): Promise<Survey> {
  const { registry, board } = pool;
  const { oracle, store } = registry.context;
  const orphans = new Map<string, number>();
  const completed = board.completed;
  const before = await oracle.latest();
  let start: Awaited<ReturnType<typeof readHints>>["next"];
  let pages = 0;
  do {
    const page = await readHints(store, { start, end: undefined }, pageHints, signal);
    // Read after the hints: their observers were registered before them.
    const { observers } = await registry.fresh();
    for (const { observer } of page.hints) {
      const registered = observers.get(observer);
      if (registered === undefined) continue;
      if (isRun(pool, observer, registered.record.version)) {
        return { busy: true, orphans, isSnapshot: false };
      }
      orphans.set(observer, (orphans.get(observer) ?? 0) + 1);
    }
    pages++;
    start = page.next;
  } while (start !== undefined);
  const isOneRead = pages === 1 && store.capabilities.atomicBatches;
  const isStill = (await oracle.latest()) === before && board.completed === completed && board.isQuiet;
  return { busy: false, orphans, isSnapshot: isOneRead || isStill };
}

/** Whether a live worker runs an observer; what this process hosts counts as soon as a worker is there. */
function isRun(pool: WorkerPool, observer: string, version: number): boolean {
  if (pool.worked.get(observer)?.version === version) return true;
  const { sessions } = pool;
  return sessions.hosting(observer, version).some((session) => session !== sessions.session);
}
