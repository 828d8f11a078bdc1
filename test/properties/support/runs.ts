import type fc from "fast-check";

/*
 * PERCOLATOR_RUNS multiplies the runs of every property here; a failure prints its seed and path, which PERCOLATOR_SEED and
 * PERCOLATOR_PATH repeat (and PERCOLATOR_REPLAY the commands of a model run), with `-t` and the test's name.
 */

function numberOf(name: string): number | undefined {
  const text = process.env[name];
  return text === undefined || text === "" ? undefined : Number(text);
}

/** The parameters of a property that runs so often by default. */
export function runs<T>(byDefault: number): fc.Parameters<T> {
  const seed = numberOf("PERCOLATOR_SEED");
  const path = process.env.PERCOLATOR_PATH;
  return {
    numRuns: Math.ceil(byDefault * (numberOf("PERCOLATOR_RUNS") ?? 1)),
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path, endOnFailure: true }),
  };
}

/** The options of the commands of a model run. */
export function commandsOptions(maxCommands: number): fc.CommandsContraints {
  const replayPath = process.env.PERCOLATOR_REPLAY;
  return { maxCommands, size: "max", ...(replayPath === undefined ? {} : { replayPath }) };
}
