import type fc from "fast-check";

/*
 * PERCOLATOR_RUNS multiplies the runs of every property. A failure prints its seed and path. To
 * repeat it, set PERCOLATOR_SEED and PERCOLATOR_PATH (and PERCOLATOR_REPLAY for the commands of a
 * model run), with `-t` and the test's name.
 */

function numberOf(name: string): number | undefined {
  const text = process.env[name];
  return text === undefined || text === "" ? undefined : Number(text);
}

/** The parameters of a property with this default number of runs. */
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
