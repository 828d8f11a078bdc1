import { type Case, makeAudit, makeHistory, read, scan, setup, write } from "./history.js";

/** Histories without anomalies. */
export const sound: readonly Case[] = [
  { name: "nothing at all", kinds: [], history: makeHistory() },
  {
    name: "reads at every age, absent cells and deletes included",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [read("x", 0), write("x", 1)] },
      { start: 5, commit: 6, steps: [read("x", 1), write("x", undefined)] },
      { start: 1, steps: [read("x", undefined), scan({ start: "" })] },
      { start: 3, steps: [read("x", 0), read("z", undefined)] },
      { start: 4, steps: [read("x", 1), scan({ start: "" }, ["x", 1], ["y", 0])] },
      {
        start: 6,
        steps: [read("x", undefined), scan({ start: "", end: "z", reverse: true }, ["y", 0])],
      },
    ),
  },
  {
    name: "write skew under snapshot",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 2, commit: 5, steps: [read("x", 0), read("y", 0), write("x", 1)] },
      { start: 2, commit: 6, steps: [read("x", 0), read("y", 0), write("y", 1)] },
    ),
  },
  {
    name: "a phantom under snapshot",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 2, commit: 5, steps: [scan({ start: "z" }), write("zm", 1)] },
      { start: 2, commit: 6, steps: [scan({ start: "z" }), write("zn", 1)] },
    ),
  },
  {
    name: "write skew between one serializable transaction and one under snapshot",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 2, commit: 6, steps: [read("x", 0), read("y", 0), write("x", 1)] },
      {
        start: 2,
        commit: 5,
        serializable: true,
        steps: [read("x", 0), read("y", 0), write("y", 1)],
      },
    ),
  },
  {
    name: "serializable transactions in an order that is not that of their starts",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 2, commit: 6, serializable: true, steps: [read("y", 0), write("x", 1)] },
      { start: 3, commit: 7, serializable: true, steps: [read("x", 0), write("z", 1)] },
    ),
  },
  {
    name: "several one-phase transactions of one start timestamp",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 2, commit: 3, steps: [read("x", 0), write("x", 1)] },
      { start: 2, commit: 4, steps: [read("x", 0), write("y", 1)] },
      { start: 2, outcome: "conflicted", steps: [read("x", 0), write("x", 2)] },
      { start: 4, commit: 5, steps: [read("x", 1), read("y", 1), write("x", 2)] },
      { start: 4, steps: [read("x", 1), read("y", 1)] },
    ),
  },
  {
    name: "one that begins at the commit timestamp of the writer before it",
    kinds: [],
    history: makeHistory(
      { client: "a", start: 1, commit: 2, steps: [write("x", 1)] },
      { client: "b", start: 2, commit: 3, steps: [read("x", 1), write("x", 2)] },
      { client: "b", start: 3, commit: 4, steps: [read("x", 2), write("x", 3)] },
    ),
  },
  {
    name: "own writes, deletes and scans over them",
    kinds: [],
    history: makeHistory(setup, {
      start: 3,
      commit: 4,
      steps: [
        write("x", 1),
        read("x", 1),
        write("x", 2),
        write("y", undefined),
        write("m", 5),
        scan({ start: "" }, ["m", 5], ["x", 2]),
        read("y", undefined),
      ],
    }),
  },
  {
    name: "a transaction of unknown outcome of which nothing is seen",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 3, outcome: "unknown", steps: [write("x", 1), write("y", 1)] },
      { start: 9, steps: [read("x", 0), read("y", 0)] },
    ),
  },
  {
    name: "a transaction of unknown outcome that is seen from some moment on, whole",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 3, outcome: "unknown", steps: [write("x", 1), write("y", 1)] },
      { start: 5, steps: [read("x", 0), read("y", 0)] },
      { start: 7, steps: [read("y", 1)] },
      { start: 8, steps: [read("x", 1), read("y", 1)] },
    ),
  },
  {
    name: "a transaction of unknown outcome that was overwritten in one cell before it was seen in another",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 3, outcome: "unknown", steps: [write("x", 1), write("y", 1)] },
      { start: 7, commit: 8, steps: [write("y", 2)] },
      { start: 10, steps: [read("x", 1), read("y", 2)] },
    ),
  },
  {
    name: "two of unknown outcome that deleted one cell, of which the later may have",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 3, outcome: "unknown", steps: [write("x", undefined)] },
      { start: 4, commit: 5, steps: [write("x", 3)] },
      { start: 6, outcome: "unknown", steps: [write("x", undefined), write("y", 4)] },
      { start: 9, steps: [read("x", undefined), read("y", 4)] },
    ),
  },
  {
    name: "of two that may have deleted a cell, the one whose other write is not seen did not",
    kinds: [],
    history: makeHistory(
      setup,
      { start: 3, outcome: "unknown", steps: [write("x", undefined), write("y", 4)] },
      { start: 4, outcome: "unknown", steps: [write("x", undefined), write("z", 5)] },
      { start: 9, steps: [read("x", undefined)] },
      { start: 10, steps: [read("y", 0), read("z", 5)] },
    ),
  },
  {
    name: "a snapshot of the past, after newer reads of the same client",
    kinds: [],
    history: makeHistory(
      setup,
      { client: "a", start: 3, commit: 4, steps: [write("x", 1)] },
      { client: "a", timed: false, start: 2, steps: [read("x", 0)] },
    ),
  },
  {
    name: "what the store holds is what was told, with one of unknown outcome",
    kinds: [],
    history: makeHistory(
      { start: 1, commit: 2, steps: [write("x", 1), write("y", 1)] },
      { start: 3, outcome: "unknown", steps: [write("x", 2), write("y", 2)] },
      { start: 3, outcome: "unknown", steps: [write("x", 3)] },
      { start: 6, steps: [read("x", 2), read("y", 2)] },
    ),
    audit: makeAudit({
      x: [
        [1, 2, 1],
        [3, 5, 2],
      ],
      y: [
        [1, 2, 1],
        [3, 5, 2],
      ],
    }),
  },
  {
    name: "two of unknown outcome that began at the same time and wrote the same somewhere, the second of which committed",
    kinds: [],
    history: makeHistory(
      { start: 1, commit: 2, steps: [write("x", 0), write("y", 0), write("z", 0)] },
      { start: 3, outcome: "unknown", steps: [write("x", undefined), write("y", 1)] },
      { start: 3, outcome: "unknown", steps: [write("x", undefined), write("z", 2)] },
      { start: 6, steps: [read("y", 0), read("z", 2), read("x", undefined)] },
    ),
    audit: makeAudit({
      x: [
        [1, 2, 0],
        [3, 5, undefined],
      ],
      y: [[1, 2, 0]],
      z: [
        [1, 2, 0],
        [3, 5, 2],
      ],
    }),
  },
  {
    name: "two of unknown outcome, one after the other, of which the later is found out first",
    kinds: [],
    history: makeHistory(
      { start: 1, commit: 2, steps: [write("x", 0), write("y", 0), write("z", 0)] },
      { start: 3, outcome: "unknown", steps: [write("x", 1), write("z", 1)] },
      { start: 6, outcome: "unknown", steps: [write("x", 2), write("y", 2)] },
      { start: 9, steps: [read("z", 1), read("y", 2)] },
    ),
  },
  {
    name: "two such of which one wrote more",
    kinds: [],
    history: makeHistory(
      { start: 1, commit: 2, steps: [write("x", 0), write("z", 0)] },
      { start: 3, outcome: "unknown", steps: [write("x", undefined)] },
      { start: 3, outcome: "unknown", steps: [write("x", undefined), write("z", 2)] },
    ),
    audit: makeAudit({
      x: [
        [1, 2, 0],
        [3, 5, undefined],
      ],
      z: [
        [1, 2, 0],
        [3, 5, 2],
      ],
    }),
  },
  {
    name: "versions below the safepoint that collection has dropped",
    kinds: [],
    history: makeHistory(
      { start: 1, commit: 2, steps: [write("x", 1), write("y", 1)] },
      { start: 3, commit: 4, steps: [write("x", 2), write("y", undefined)] },
      { start: 8, commit: 9, steps: [write("x", 3)] },
    ),
    audit: makeAudit(
      {
        x: [
          [3, 4, 2],
          [8, 9, 3],
        ],
        y: [],
      },
      5,
    ),
  },
];
