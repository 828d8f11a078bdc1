import { type Case, makeAudit, makeHistory, read, scan, setup, write } from "./history.js";

/** Histories with a known anomaly of each kind. */
export const anomalous: readonly Case[] = [
  {
    name: "G0: two writers whose writes stand in opposite orders in two cells",
    kinds: ["G0", "atomicity", "overlapping-writers"],
    history: makeHistory(
      { start: 1, commit: 10, steps: [write("x", 1), write("y", 1)] },
      { start: 2, commit: 11, steps: [write("x", 2), write("y", 2)] },
    ),
    audit: makeAudit({
      x: [
        [1, 10, 1],
        [2, 11, 2],
      ],
      y: [
        [2, 11, 2],
        [1, 12, 1],
      ],
    }),
  },
  {
    name: "G1a: a value of a transaction that conflicted is read",
    kinds: ["G1a"],
    history: makeHistory(
      setup,
      { start: 3, outcome: "conflicted", steps: [write("x", 7)] },
      { start: 5, steps: [read("x", 7)] },
    ),
  },
  {
    name: "G1a: a value of a transaction that was rolled back is found by a scan",
    kinds: ["G1a"],
    history: makeHistory(
      setup,
      { start: 3, outcome: "failed", steps: [write("w", 7)] },
      { start: 5, steps: [scan({ start: "" }, ["w", 7], ["x", 0], ["y", 0])] },
    ),
  },
  {
    name: "G1b: a value is read that its writer has overwritten",
    kinds: ["G1b"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("x", 1), write("x", 2)] },
      { start: 5, steps: [read("x", 1)] },
    ),
  },
  {
    name: "G1c: two transactions that read each other's writes",
    kinds: ["G1c", "future-read"],
    history: makeHistory(
      setup,
      { start: 3, commit: 5, steps: [write("x", 1), read("y", 2)] },
      { start: 4, commit: 6, steps: [write("y", 2), read("x", 1)] },
    ),
  },
  {
    name: "G-single: read skew between two writers, the second of which has read the first",
    kinds: ["G-single", "future-read"],
    history: makeHistory(
      setup,
      { start: 3, steps: [read("x", 0), read("y", 2)] },
      { start: 3, commit: 4, steps: [write("x", 1)] },
      { start: 4, commit: 6, steps: [read("x", 1), write("y", 2)] },
    ),
  },
  {
    name: "long fork: two readers see two writers in opposite orders",
    kinds: ["long-fork", "missed-write"],
    history: makeHistory(
      setup,
      { start: 2, commit: 5, steps: [write("x", 1)] },
      { start: 2, commit: 6, steps: [write("y", 1)] },
      { start: 8, steps: [read("x", 1), read("y", 0)] },
      { start: 9, steps: [read("y", 1), read("x", 0)] },
    ),
  },
  {
    name: "G2-item: write skew between serializable transactions",
    kinds: ["G2-item"],
    history: makeHistory(
      setup,
      {
        start: 2,
        commit: 5,
        serializable: true,
        steps: [read("x", 0), read("y", 0), write("x", 1)],
      },
      {
        start: 2,
        commit: 6,
        serializable: true,
        steps: [read("x", 0), read("y", 0), write("y", 1)],
      },
    ),
  },
  {
    name: "G2: each of two serializable transactions writes into a range that the other has read",
    kinds: ["G2"],
    history: makeHistory(
      setup,
      {
        start: 2,
        commit: 5,
        serializable: true,
        steps: [scan({ start: "" }, ["x", 0], ["y", 0]), write("m", 1)],
      },
      {
        start: 2,
        commit: 6,
        serializable: true,
        steps: [scan({ start: "" }, ["x", 0], ["y", 0]), write("n", 1)],
      },
    ),
  },
  {
    name: "G2-item: a serializable reader sees what no order of serializable writers can show",
    kinds: ["G2-item"],
    history: makeHistory(
      setup,
      { start: 2, commit: 6, serializable: true, steps: [read("x", 0), read("y", 0), write("x", 1)] },
      { start: 2, commit: 4, serializable: true, steps: [read("y", 0), write("y", 1)] },
      { start: 5, serializable: true, steps: [read("x", 0), read("y", 1)] },
    ),
  },
  {
    name: "P4: two overlapping transactions read and write one cell",
    kinds: ["G-single", "P4"],
    history: makeHistory(
      setup,
      { start: 2, commit: 5, steps: [read("x", 0), write("x", 1)] },
      { start: 2, commit: 6, steps: [read("x", 0), write("x", 2)] },
    ),
  },
  {
    name: "two overlapping transactions write one cell blindly",
    kinds: ["overlapping-writers"],
    history: makeHistory(
      setup,
      { start: 3, commit: 5, steps: [write("x", 1)] },
      { start: 4, commit: 6, steps: [write("x", 2)] },
    ),
  },
  {
    name: "OTV: a transaction is seen in one cell, and then in another no longer",
    kinds: ["G-single", "OTV"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("x", 1), write("y", 1)] },
      { start: 5, steps: [read("x", 1), read("y", 0)] },
    ),
  },
  {
    name: "fractured read: a transaction is seen in the second cell only, below the reader's start",
    kinds: ["G-single", "fractured-read"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("x", 1), write("y", 1)] },
      { start: 5, steps: [read("x", 0), read("y", 1)] },
    ),
  },
  {
    name: "fractured read: a transaction is seen in the second cell only, above the reader's start",
    kinds: ["G-single", "fractured-read"],
    history: makeHistory(
      setup,
      { start: 3, steps: [scan({ start: "", end: "y" }, ["x", 0]), read("y", 1)] },
      { start: 3, commit: 4, steps: [write("x", 1), write("y", 1)] },
    ),
  },
  {
    name: "internal: a transaction does not see what it wrote",
    kinds: ["internal"],
    history: makeHistory(setup, { start: 3, commit: 4, steps: [write("x", 1), read("x", 0)] }),
  },
  {
    name: "internal: a transaction sees in a scan what it has deleted",
    kinds: ["internal"],
    history: makeHistory(setup, {
      start: 3,
      commit: 4,
      steps: [write("x", undefined), scan({ start: "" }, ["x", 0], ["y", 0])],
    }),
  },
  {
    name: "internal: a cell is read twice, with different values",
    kinds: ["G-single", "internal"],
    history: makeHistory(
      setup,
      { start: 3, steps: [read("x", 0), read("x", 1)] },
      { start: 3, commit: 4, steps: [write("x", 1)] },
    ),
  },
  {
    name: "internal: a range is scanned twice, and the second time has a row more",
    kinds: ["G-single", "internal"],
    history: makeHistory(
      setup,
      { start: 3, steps: [scan({ start: "y" }, ["y", 0]), scan({ start: "y" }, ["y", 0], ["z", 1])] },
      { start: 3, commit: 4, steps: [write("z", 1)] },
    ),
  },
  {
    name: "a scan is out of order",
    kinds: ["scan-order"],
    history: makeHistory(setup, { start: 3, steps: [scan({ start: "" }, ["y", 0], ["x", 0])] }),
  },
  {
    name: "a scan backwards is out of order",
    kinds: ["scan-order"],
    history: makeHistory(setup, {
      start: 3,
      steps: [scan({ start: "", reverse: true }, ["x", 0], ["y", 0])],
    }),
  },
  {
    name: "a scan shows a row outside of its range",
    kinds: ["scan-order"],
    history: makeHistory(setup, { start: 3, steps: [scan({ start: "y" }, ["x", 0], ["y", 0])] }),
  },
  {
    name: "a read shows what was committed after its start",
    kinds: ["future-read"],
    history: makeHistory(
      setup,
      { start: 3, steps: [read("x", 1)] },
      { start: 3, commit: 4, steps: [write("x", 1)] },
    ),
  },
  {
    name: "a scan misses a row that was committed before its start",
    kinds: ["missed-write"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("w", 1)] },
      { start: 4, steps: [scan({ start: "" }, ["x", 0], ["y", 0])] },
    ),
  },
  {
    name: "a deleted cell is read",
    kinds: ["missed-write"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("x", undefined)] },
      { start: 4, steps: [read("x", 0)] },
    ),
  },
  {
    name: "stale read: of what was told committed before the reader began",
    kinds: ["stale-read"],
    history: makeHistory(
      setup,
      { client: "a", start: 3, commit: 4, steps: [write("x", 1)] },
      { client: "b", start: 5, steps: [read("x", 0)] },
    ),
  },
  {
    name: "real time: a transaction starts below a commit that was told before it began",
    kinds: ["real-time"],
    history: makeHistory(
      setup,
      { client: "a", start: 3, commit: 6, steps: [write("x", 1)] },
      { client: "b", start: 5, steps: [read("x", 0)] },
    ),
  },
  {
    name: "non-monotonic reads: a client's second transaction starts below its first",
    kinds: ["non-monotonic-read"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("x", 1)] },
      { client: "a", start: 5, steps: [read("x", 1)] },
      { client: "a", start: 3, steps: [read("x", 0)] },
    ),
  },
  {
    name: "non-monotonic reads: a row that a client's scan has shown is gone",
    kinds: ["missed-write", "non-monotonic-read"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("z", 1)] },
      { client: "a", start: 5, steps: [scan({ start: "z" }, ["z", 1])] },
      { client: "a", start: 5, steps: [scan({ start: "z" })] },
    ),
  },
  {
    name: "read your writes: a client does not see what it was told committed",
    kinds: ["read-your-writes", "stale-read"],
    history: makeHistory(
      setup,
      { client: "a", start: 3, commit: 4, steps: [write("x", 1)] },
      { client: "a", start: 5, steps: [read("x", 0)] },
    ),
  },
  {
    name: "garbage: a value that nobody wrote is read",
    kinds: ["garbage"],
    history: makeHistory(setup, { start: 3, steps: [read("x", 99)] }),
  },
  {
    name: "garbage: the store has a version that no transaction wrote",
    kinds: ["garbage"],
    history: makeHistory({ start: 1, commit: 2, steps: [write("x", 1)] }),
    audit: makeAudit({
      x: [
        [1, 2, 1],
        [3, 4, 5],
      ],
    }),
  },
  {
    name: "lost write: told committed, and two readers who should do not see it",
    kinds: ["lost-write", "missed-write"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("x", 1)] },
      { start: 5, steps: [read("x", 0)] },
      { start: 6, steps: [read("x", 0)] },
    ),
  },
  {
    name: "lost write: told committed, and the store does not have it",
    kinds: ["lost-write"],
    history: makeHistory(
      { start: 1, commit: 2, steps: [write("x", 1)] },
      { start: 3, commit: 4, steps: [write("x", 2)] },
    ),
    audit: makeAudit({ x: [[1, 2, 1]] }),
  },
  {
    name: "lost write: told committed without a commit timestamp",
    kinds: ["lost-write"],
    history: makeHistory({ start: 1, steps: [write("x", 1)] }),
  },
  {
    name: "resurrected write: told conflict, and the store has it",
    kinds: ["resurrected-write"],
    history: makeHistory({ start: 1, outcome: "conflicted", steps: [write("x", 1)] }),
    audit: makeAudit({ x: [[1, 2, 1]] }),
  },
  {
    name: "atomicity: of a transaction that was told committed one cell is never seen",
    kinds: ["G-single", "OTV", "atomicity", "missed-write"],
    history: makeHistory(
      setup,
      { start: 3, commit: 4, steps: [write("x", 1), write("y", 1)] },
      { start: 5, steps: [read("x", 1), read("y", 0)] },
      { start: 6, steps: [read("y", 0)] },
    ),
  },
  {
    name: "atomicity: of a transaction of unknown outcome one cell is seen, and another is not",
    kinds: ["atomicity", "missed-write"],
    history: makeHistory(
      setup,
      { start: 3, outcome: "unknown", steps: [write("x", 1), write("y", 1)] },
      { start: 5, steps: [read("x", 1)] },
      { start: 6, steps: [read("y", 0)] },
    ),
  },
  {
    name: "atomicity: of a transaction of unknown outcome the store has one cell, and not another",
    kinds: ["atomicity"],
    history: makeHistory({ start: 3, outcome: "unknown", steps: [write("x", 1), write("y", 1)] }),
    audit: makeAudit({ x: [[3, 4, 1]], y: [] }),
  },
  {
    name: "atomicity: the cells of a transaction stand at two commit timestamps",
    kinds: ["atomicity"],
    history: makeHistory({ start: 3, commit: 4, steps: [write("x", 1), write("y", 1)] }),
    audit: makeAudit({ x: [[3, 4, 1]], y: [[3, 5, 1]] }),
  },
  {
    name: "G1a: something was seen of a transaction of unknown outcome, and the store has nothing of it",
    kinds: ["G1a"],
    history: makeHistory(
      { start: 3, outcome: "unknown", steps: [write("x", 1)] },
      { start: 5, steps: [read("x", 1)] },
    ),
    audit: makeAudit({ x: [] }),
  },
  {
    name: "timestamps: committed at the start",
    kinds: ["timestamps"],
    history: makeHistory({ start: 3, commit: 3, steps: [write("x", 1)] }),
  },
  {
    name: "timestamps: two transactions at one commit timestamp",
    kinds: ["timestamps"],
    history: makeHistory(
      { start: 3, commit: 5, steps: [write("x", 1)] },
      { start: 4, commit: 5, steps: [write("y", 1)] },
    ),
  },
];
