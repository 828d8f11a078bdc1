import type { SimulationFailure } from "./simulate.js";

/**
 * Formats a failure for people: the error, what the shortest run needed for it, and everything that
 * happened in that run.
 */
export function showFailure({ seed, run, message, shortened }: SimulationFailure): string {
  const lines = [`Run ${run} of seed ${JSON.stringify(seed)} failed. ${message}`];
  if (shortened !== undefined) {
    const { steps, incidents, faults, trace } = shortened;
    lines.push("", `The shortest run that fails in the same way: ${shortened.message}`);
    lines.push(`Steps: ${list(steps)}`, `Incidents: ${list(incidents)}`, `Faults: ${list(faults)}`);
    lines.push("", "Its events, with the virtual time in milliseconds:", ...trace);
  }
  return lines.join("\n");
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join("; ");
}
