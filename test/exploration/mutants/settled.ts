import type { Mutant } from "./mutant.js";

const waiter = "src/live/settled/waiter.ts";

/** Mutants of what `db.settled` follows. */
export const settledMutants: readonly Mutant[] = [
  {
    name: "a run that began before a change counted as its handling",
    order: "depth-first",
    patches: [
      {
        file: waiter,
        find: "due.filter(({ commitTimestamp }) => commitTimestamp <= upTo);",
        replace: "due.filter(({ commitTimestamp }) => commitTimestamp <= upTo || commitTimestamp > 0);",
      },
    ],
    killedBy: "settledOnePhase",
  },
  {
    name: "what a run has changed not followed",
    patches: [{ file: waiter, find: "if (isNext || isCaused)", replace: "if (isCaused)" }],
    killedBy: "settledOnePhase",
    order: "depth-first",
  },
  {
    name: "a parked change counted as handled",
    takesLong: true,
    patches: [
      {
        file: waiter,
        find: "if (isParked) this.#parked.add(change);",
        replace: "if (upTo < 0) this.#parked.add(change);",
      },
    ],
    killedBy: "settledParked",
  },
  {
    name: "changes that are due before the feed left out",
    patches: [
      {
        file: "src/live/settled/due-then.ts",
        find: "due.push({ observer, cell, commitTimestamp: timestamp });",
        replace: "void cell;",
      },
    ],
    killedBy: "settledOlder",
    order: "depth-first",
  },
  {
    name: "a transaction that only notifies without an entry",
    patches: [
      {
        file: "src/transaction/commit/notifications.ts",
        find: "if (marker !== undefined) return",
        replace: "if (marker !== undefined && marker.row.length === 0) return",
      },
    ],
    killedBy: "settledSignal",
    order: "depth-first",
  },
];
