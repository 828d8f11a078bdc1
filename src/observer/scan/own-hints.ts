import type { Hint } from "../../transaction/index.js";
import { bucketOf } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { Task } from "../queue/task.js";
import type { TaskBoard } from "../queue/task-board.js";
import type { Registry } from "../registry/registry.js";
import type { BucketAssignment } from "./bucket-assignment.js";
import type { Claims } from "./claims.js";

/** What {@link takeOwnHints} needs. */
export interface OwnHintsOptions {
  readonly registry: Registry;
  readonly board: TaskBoard;
  readonly assignment: BucketAssignment;
  /** The rows that this process has claimed. Undefined without a cluster service. */
  readonly claims: Claims | undefined;
  /** The observers that workers of this process run, by name. */
  readonly worked: ReadonlyMap<string, Observer>;
}

/**
 * Takes on the hints of this process's own commits as soon as they are committed. Without a cluster
 * service, it takes on only the hints in this process's buckets. In a cluster, it takes on only the
 * hints that this process can claim. Scans find all other hints (protocol §5.9). Call the returned
 * function to stop.
 */
export function takeOwnHints({ registry, board, assignment, claims, worked }: OwnHintsOptions): () => void {
  const isClaimed = claims !== undefined;
  return registry.onCommitted((hints: readonly Hint[], timestamp) => {
    if (worked.size === 0) return;
    for (const { observer: name, address: hint, cell } of hints) {
      const observer = worked.get(name);
      if (observer === undefined) continue;
      if (!isClaimed && !assignment.owns(observer, bucketOf(cell.row))) continue;
      const offer = { observer, cell, hint, timestamp, state: undefined, takenBy: undefined, isClaimed };
      if (board.offer(offer) === "taken" && isClaimed) claim(claims, board, board.taskOf(name, cell)!);
    }
  });
}

/**
 * Claims a task without waiting for the answer. If another process has the claim, the board
 * withdraws the task. If the task's run has already begun, only one of the two processes' runs
 * commits.
 */
function claim(claims: Claims, board: TaskBoard, task: Task): void {
  const answer = claims.take(task.hint);
  const withdraw = (isGranted: boolean) => {
    if (!isGranted) board.withdraw(task);
  };
  if (answer instanceof Promise) void answer.then(withdraw);
  else withdraw(answer);
}
