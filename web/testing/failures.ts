import type {
  Failures,
  HeatMap,
  LocksPage,
  ParkedShown,
  Retrying,
  RetryingShown,
  Workers,
} from "../../src/dashboard/api/index.js";
import { FailureGroups, groupOf, isMeant } from "../../src/dashboard/failures/groups.js";
import { startedAt } from "./pipeline.js";
import { numbers } from "./random.js";

/** Invented parked changes, locks and workers. */

const stack = `TypeError: Cannot read properties of undefined (reading 'length')
    at tokens (app/terms.ts:41:18)
    at index (app/observers/index.ts:22:11)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)`;

const parked: readonly ParkedShown[] = Array.from({ length: 12 }, (_, index) => ({
  id: `p${index}`,
  observer: index % 5 === 4 ? "invert" : "index",
  table: "documents",
  row: index === 3 ? "עברית/🦉" : `https://example.org/manual/${String(index * 31).padStart(5, "0")}.html`,
  column: "text",
  attempts: 10,
  parkedAt: startedAt - index * 61_000,
  error:
    index === 2
      ? `${"A very long error message. ".repeat(30)}`
      : "TypeError: Cannot read properties of undefined (reading 'length')",
  stack: index === 5 ? undefined : stack,
}));

function failureOf<S extends ParkedShown | RetryingShown>(shown: S) {
  const [name = "", ...message] = shown.error.split(": ");
  return { observer: shown.observer, error: { name, message: message.join(": ") }, shown };
}

export function failuresShown(query: URLSearchParams, gone: ReadonlySet<string>): Failures {
  const [observer = "", text] = [query.get("observer") ?? "", query.get("text") ?? undefined];
  const groups = new FailureGroups<ReturnType<typeof failureOf<ParkedShown>>>(
    ({ shown }) => new Date(shown.parkedAt),
  );
  const left = parked
    .filter((each) => !gone.has(each.id) && (observer === "" || each.observer === observer))
    .map((each) => failureOf(each))
    .filter((each) => isMeant(each, { text }));
  for (const each of left) groups.add(each);
  return {
    groups: groups.list().map((group) => ({
      ...group,
      firstAt: group.firstAt.getTime(),
      lastAt: group.lastAt.getTime(),
      newest: group.newest.map(({ shown }) => shown),
    })),
    total: { count: left.length, isBound: false },
    others: 0,
  };
}

const retrying: readonly RetryingShown[] = Array.from({ length: 7 }, (_, index) => ({
  observer: "index",
  table: "documents",
  row: `https://example.org/manual/${String(index * 17).padStart(5, "0")}.html`,
  column: "text",
  attempts: 1 + (index % 4),
  changedAt: startedAt - 3_000 - index * 9_000,
  nextAt: index === 0 ? undefined : startedAt + index * 2_000_000,
  error: `Error: connect ECONNREFUSED 10.0.0.${index}:9200`,
}));

export function retryingShown(query: URLSearchParams): Retrying {
  const [observer = "", text] = [query.get("observer") ?? "", query.get("text") ?? undefined];
  const groups = new FailureGroups<ReturnType<typeof failureOf<RetryingShown>>>(
    ({ shown }) => new Date(shown.changedAt),
  );
  const left = retrying
    .filter((each) => observer === "" || each.observer === observer)
    .map((each) => failureOf(each))
    .filter((each) => isMeant(each, { text }));
  for (const each of left) groups.add(each);
  return {
    groups: groups.list().map((group) => ({
      ...group,
      firstAt: group.firstAt.getTime(),
      lastAt: group.lastAt.getTime(),
      newest: group.newest.map(({ shown }) => shown),
    })),
    total: { count: left.length, isBound: false },
    others: 0,
  };
}

/** The ids of the parked changes of a group or of an observer. */
export const parkedIds = (of: { readonly group?: string; readonly observer?: string }) =>
  parked
    .filter((each) =>
      of.group === undefined ? each.observer === of.observer : groupOf(failureOf(each)) === of.group,
    )
    .map(({ id }) => id);

export function locksPage(gone: ReadonlySet<string>): LocksPage {
  const cell = (column: string) => ({
    table: "documents",
    row: "https://example.org/manual/00041.html",
    column,
  });
  const lock = (id: string, column: string, ageMs: number, ownerLives: boolean | undefined) => ({
    id,
    ...cell(column),
    kind: "put",
    startTimestamp: startedAt * 1_000 - ageMs * 1_000,
    primary: cell("contents"),
    isPrimary: column === "contents",
    session: "0f3a91c2",
    ageMs,
    ttlMs: 10_000,
    ownerLives,
  });
  const locks = [
    lock("l1", "contents", 412_000, false),
    lock("l2", "hash", 411_998, false),
    lock("l3", "title", 12, true),
    lock("l4", "links", 40, undefined),
  ];
  return { locks: locks.filter(({ id }) => !gone.has(id)), next: undefined, isCut: false };
}

export function workers(reach: Workers["reach"], isEmpty: boolean): Workers {
  const isHeard = reach !== "store";
  const session = (id: string, process: string, isHere: boolean) => ({
    session: id,
    process,
    observers: ["extract", "cluster", "invert", "index"],
    isHere,
    isLive: id !== "e1d0",
    exists: id === "e1d0" ? true : undefined,
    lastHeartbeatAt: id === "e1d0" ? startedAt - 94_000 : startedAt,
    vitals:
      id === "e1d0"
        ? undefined
        : {
            version: "0.1.0",
            upMs: 187_200_000,
            cpuShare: 0.42,
            loopDelayMs: isHere ? 12 : 640,
            memoryBytes: 212_000_000,
          },
    clockOffsetMs: isHere ? 0 : 12_400,
    runsPerSecond: isHeard && isHere ? 402.2 : undefined,
    commitsPerSecond: isHeard && isHere ? 711 : undefined,
    running: isHeard && isHere ? 64 : undefined,
    claims: isHeard && isHere ? 3 : undefined,
    memoryBytes: isHeard && isHere ? 212_000_000 : undefined,
  });
  return {
    reach,
    sessions: isEmpty
      ? []
      : [
          session("e1d0", "1203 on gamma", false),
          session("0f3a91c2", "4711 on alpha", true),
          session("77b2e0aa", "993 on beta", false),
        ],
    coordinator: undefined,
  };
}

export function heatMap(query: URLSearchParams, reach: HeatMap["reach"], isEmpty: boolean): HeatMap {
  const random = numbers(7);
  const metric = (query.get("metric") ?? "writes") as HeatMap["metric"];
  const ranges = Array.from({ length: 24 }, (_, index) =>
    index === 0 ? "" : index === 9 ? "עברית/🦉" : `https://example.org/${index * 400}`,
  );
  const counts = ranges.map((_, range) =>
    Array.from({ length: 60 }, (_, bucket) => {
      const ridge = Math.max(0, 1 - Math.abs(range - bucket / 3) / 3);
      return isEmpty
        ? 0
        : Math.round((ridge * 900 + (range === 17 ? 80 : 0)) * random() * (metric === "writes" ? 1 : 0.02));
    }),
  );
  return {
    reach,
    table: query.get("table") ?? "documents",
    metric,
    ranges,
    startsAt: startedAt - 600_000,
    bucketMs: 10_000,
    totals: isEmpty ? [] : [{ table: "documents", count: 12_304 }],
    counts,
  };
}
