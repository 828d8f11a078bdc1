/**
 * The tasks, in the order in which they are preferred: what many pages cause together is done once. A job takes so much off the
 * list at a time as was fastest. There is no `elect`: a cluster that is locked has its first member looked up at once.
 */
export const tasks = {
  extract: { priority: 0, batch: 16 },
  invert: { priority: 1, batch: 64 },
  cluster: { priority: 2, batch: 256 },
  index: { priority: 3, batch: 64 },
  merge: { priority: 4, batch: 4 },
} as const;

export type TaskName = keyof typeof tasks;

/** The processes of a run inherit it. */
const limitVariable = "PERCOLATORDB_PEER_BATCH";

/** No job takes more from now on, here and in processes that are started: with 1, each change is a job of its own. */
export function limitBatches(most: number): void {
  process.env[limitVariable] = String(most);
}

/** How many changes a job of the task takes at the most. */
export function batchOf(task: TaskName): number {
  return Math.min(tasks[task].batch, Number(process.env[limitVariable] ?? Number.POSITIVE_INFINITY));
}
