/**
 * The tasks, in the order in which they are preferred: first what a page's own change causes, and
 * what many pages cause together is done once. The batch sizes are the fastest ones. There is no
 * `elect`: a cluster that is locked has its first member looked up at once.
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

/** The processes of a run inherit it. */
const limitVariable = "PERCOLATORDB_PEER_BATCH";

/**
 * No job takes more from now on, here and in processes that are started: with 1, each change is a
 * job of its own.
 */
export function limitBatches(most: number): void {
  process.env[limitVariable] = String(most);
}

/** Processes that are started from now on add no jobs for what is done in rounds. */
const roundsVariable = "PERCOLATORDB_PEER_ROUNDS";

export function setRounds(on: boolean): void {
  process.env[roundsVariable] = on ? "1" : "";
}

export function hasRounds(): boolean {
  return process.env[roundsVariable] === "1";
}

/** How many changes a job of the task takes at the most. */
export function batchOf(task: TaskName): number {
  return Math.min(tasks[task].batch, Number(process.env[limitVariable] ?? Number.POSITIVE_INFINITY));
}
