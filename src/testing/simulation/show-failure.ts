import type { SimulationFailure } from "./simulate.js";

/** More events than a person reads. A run that ends at its time limit may have tens of thousands. */
const maxEvents = 500;

/**
 * Formats a failure for people: the error, what the shortest run needed for it, and the last 500 events
 * of that run.
 */
export function showFailure({ seed, run, message, repeats, shortened }: SimulationFailure): string {
  const lines = [`Run ${run} of seed ${JSON.stringify(seed)} failed. ${message}`];
  if (repeats === false) {
    const how = shortened === undefined ? "without a failure of this kind" : "otherwise";
    lines.push(
      "",
      `When it was played again, it ended ${how}. Something outside of the seed decides what happens: a variable ` +
        "that outlives a run, the real time, or other random numbers. Create what the workload remembers in each " +
        "run: `simulate({ workload: () => ({ ... }) })`.",
    );
  }
  if (shortened !== undefined) {
    const { steps, incidents, faults, trace } = shortened;
    lines.push("", `The shortest run that fails in the same way: ${shortened.message}`);
    lines.push(`Steps: ${list(steps)}`, `Incidents: ${list(incidents)}`, `Faults: ${list(faults)}`);
    lines.push("", "Its events, with the virtual time in milliseconds:");
    const hidden = trace.length - maxEvents;
    if (hidden > 0) lines.push(`(${hidden} earlier events are in the failure's \`shortened.trace\`)`);
    lines.push(...trace.slice(-maxEvents));
  }
  return lines.join("\n");
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join("; ");
}
