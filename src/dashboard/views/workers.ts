import type { Workers } from "../api.js";
import { sumOf } from "../recording/sums.js";
import type { View } from "./context.js";
import { coordinatorShown } from "./overview.js";

/** The processes that run observers, with the figures that they report. */
export const workers: View<Workers> = async (context) => {
  const { standing, gathered, reach } = context;
  const [{ status }, reports] = await Promise.all([standing.get(), gathered.reports()]);
  const sessions = [...status.sessions].map(([session, { process, observers }]) => {
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
      runsPerSecond: sum((report) =>
        sumOf(Object.values(report.observers), ({ runsPerSecond }) => runsPerSecond),
      ),
      commitsPerSecond: sum((report) => report.commitsPerSecond),
      running: sum((report) => report.running),
      claims: sum((report) => report.claims),
      memoryBytes: own[0]?.memoryBytes,
    };
  });
  const coordinator = coordinatorShown(status.coordinator);
  return { reach, sessions, coordinator, unheard: gathered.failures };
};
