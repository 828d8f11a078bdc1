/**
 * The tasks in order of priority. A page's own change comes first. Effects that many pages have in
 * common come later, and are computed once. The batch sizes are the fastest that were tried. There
 * is no task `elect`, because `cluster` finds the first member of a locked cluster at once.
 */
export const tasks = {
  extract: { priority: 0, batch: 16 },
  invert: { priority: 1, batch: 64 },
  cluster: { priority: 2, batch: 256 },
  index: { priority: 3, batch: 64 },
  relink: { priority: 4, batch: 256 },
  merge: { priority: 5, batch: 4 },
} as const;

export type TaskName = keyof typeof tasks;

/** An environment variable, which the processes of a run inherit. */
const limitVariable = "PERCOLATORDB_PEER_BATCH";

/**
 * Limits every batch from now on, in this process and in those that it starts. With 1, each change
 * is a separate job.
 */
export function limitBatches(most: number): void {
  process.env[limitVariable] = String(most);
}

/** If set, processes started from now on add no jobs for tasks that run in rounds. */
const roundsVariable = "PERCOLATORDB_PEER_ROUNDS";

export function setRounds(on: boolean): void {
  process.env[roundsVariable] = on ? "1" : "";
}

export function hasRounds(): boolean {
  return process.env[roundsVariable] === "1";
}

/** Returns the most changes in one job of the task. */
export function batchOf(task: TaskName): number {
  return Math.min(tasks[task].batch, Number(process.env[limitVariable] ?? Number.POSITIVE_INFINITY));
}
