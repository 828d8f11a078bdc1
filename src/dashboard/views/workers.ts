import type { Workers } from "../api/index.js";
import { sumOf } from "../recording/sums.js";
import type { View } from "./context.js";
import { coordinatorShown } from "./overview.js";

/** The processes that run observers, with the figures that they report. */
export const workers: View<Workers> = async (context) => {
  const { standing, gathered, reach } = context;
  const [{ status, now }, reports] = await Promise.all([standing.get(), gathered.reports()]);
  const live = [...status.sessions].filter(([session]) => !status.silent.has(session));
  const sessions = live.map(([session, { process, observers, vitals, clockOffsetMs }]) => {
    const own = reports.filter((report) => report.process === process);
    const sum = (read: (report: (typeof own)[number]) => number | undefined) => {
      const said = own.map(read).filter((value) => value !== undefined);
      return said.length === 0 ? undefined : sumOf(said, Number);
    };
    return {
      session,
      process,
      observers: Object.keys(observers),
      isHere: reach === "here" && own.length > 0,
      isLive: true,
      exists: undefined,
      lastHeartbeatAt: Math.round(now),
      vitals,
      clockOffsetMs: clockOffsetMs === undefined ? undefined : Math.round(clockOffsetMs),
      runsPerSecond: sum((report) =>
        sumOf(Object.values(report.observers), ({ runsPerSecond }) => runsPerSecond),
      ),
      commitsPerSecond: sum((report) => report.commitsPerSecond),
      running: sum((report) => report.running),
      claims: sum((report) => report.claims),
      memoryBytes: own[0]?.memoryBytes,
    };
  });
  const silent = [...status.silent].map(([session, { process, observers, lastHeartbeatAt, exists }]) => ({
    ...nothingKnown,
    session,
    process,
    observers: Object.keys(observers),
    exists,
    lastHeartbeatAt: Math.round(lastHeartbeatAt),
  }));
  const coordinator = coordinatorShown(status.coordinator);
  return { reach, sessions: [...silent, ...sessions], coordinator, unheard: gathered.failures };
};

/** What is known about a process that has stopped sending heartbeats. */
const nothingKnown = {
  isHere: false,
  isLive: false,
  vitals: undefined,
  clockOffsetMs: undefined,
  runsPerSecond: undefined,
  commitsPerSecond: undefined,
  running: undefined,
  claims: undefined,
  memoryBytes: undefined,
} as const;
