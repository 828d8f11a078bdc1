import type { Past, PastMoment } from "../../../src/dashboard/api/index.js";
import { apiPath, getJson } from "../api/client.js";
import { overview, reconnects } from "../api/stream.js";
import { whileVisible } from "../api/visible.js";
import { behindMs, type ProblemKind } from "./health.js";
import { Store } from "./store.js";

const everyMs = 10_000;
const hourMs = 3_600_000;
/** A state that was interrupted for less than this long, in milliseconds, has gone on. */
const gapMs = 35_000;

/** The last hour, oldest first, as the server has kept it. */
export const past = new Store<readonly PastMoment[]>([]);

/**
 * Asks for new moments while the page is open and visible. Asks for all of them if the page has
 * connected again, because the server may have another database, and if the server's clock was set back.
 */
export function followPast(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let newest = 0;
  const ask = async (known: readonly PastMoment[]) => {
    clearTimeout(timer);
    const mine = ++newest;
    try {
      const after = known.at(-1)?.at;
      const { moments } = await getJson<Past>(apiPath("past", { after }), AbortSignal.timeout(everyMs));
      if (mine !== newest) return;
      const oldest = (moments.at(-1)?.at ?? 0) - hourMs;
      if (moments.length > 0 || known.length === 0)
        past.set([...known, ...moments].filter(({ at }) => at > oldest));
    } catch {
      // The connection's sign says that the server does not answer.
    }
    if (mine !== newest) return;
    timer = setTimeout(() => void ask(knownNow()), past.value.length === 0 ? 2_000 : everyMs);
  };
  reconnects.watch(() => void ask([]));
  whileVisible(() => {
    void ask(knownNow());
    return () => {
      newest++;
      clearTimeout(timer);
    };
  });
}

/** The moments that are still those of the past. */
function knownNow(): readonly PastMoment[] {
  const now = overview.value?.now;
  const last = past.value.at(-1)?.at ?? 0;
  return now !== undefined && last > now + everyMs ? [] : past.value;
}

/** Since when a state has lasted. */
export interface Since {
  readonly at: number;
  /** Whether it may have lasted longer, because the history begins then. */
  readonly isAtLeast: boolean;
}

/** Since when an observer has been in a state. Undefined if no moment shows it. */
export function sinceOf(
  moments: readonly PastMoment[],
  observer: string,
  kind: ProblemKind,
): Since | undefined {
  return sinceSo(moments, ({ observers }) => {
    // An observer may have the name of a property that every object has.
    const figures = Object.hasOwn(observers, observer) ? observers[observer] : undefined;
    return figures !== undefined && wasSo(figures, kind);
  });
}

/** Since when moments are so, until the newest. Undefined if none is. */
export function sinceSo(
  moments: readonly PastMoment[],
  isSo: (moment: PastMoment) => boolean,
): Since | undefined {
  let first: number | undefined;
  const newest = moments.at(-1)?.at ?? 0;
  for (const moment of [...moments].reverse()) {
    if (moment.at < (first ?? newest) - gapMs) break;
    if (isSo(moment)) first = moment.at;
  }
  return first === undefined ? undefined : { at: first, isAtLeast: first === moments[0]?.at };
}

function wasSo(
  [pending, oldestMs, parked, failures, hosts, retrying = 0]: PastMoment["observers"][string],
  kind: ProblemKind,
): boolean {
  switch (kind) {
    case "no worker":
      return hosts === 0;
    case "parked":
      return parked > 0;
    case "failing":
      return failures > 0 || retrying > 0;
    default:
      return pending > 0 && oldestMs >= behindMs;
  }
}
