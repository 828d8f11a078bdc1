import type {
  CellName,
  ConflictInsights,
  TransactionDetail,
  TransactionShown,
} from "../../src/dashboard/api/index.js";
import { startedAt } from "./pipeline.js";
import { numbers } from "./random.js";

/** Invented transactions: loads, the runs that they cause, and some conflicts. */

const runs = ["extract", "cluster", "invert", "index"] as const;

const cellOf = (index: number): CellName => ({
  table: "documents",
  row: `https://example.org/manual/${String(index % 997).padStart(5, "0")}.html`,
  column: "contents",
});

export function transactionAt(index: number): TransactionShown {
  // Seeds that are far apart, because close ones give close first numbers.
  const random = numbers(Math.imul(index + 1, 2_654_435_761));
  const isLoad = index % 4 === 0;
  const roll = random();
  const outcome = roll < 0.06 ? "conflict" : roll < 0.08 ? "rolled back" : "committed";
  const startTimestamp = startedAt * 1_000 + index * 40_000;
  const durationMs = 0.6 + random() ** 6 * 1_800;
  const end = startTimestamp + Math.round(durationMs * 1_000);
  return {
    id: `t${index}`,
    process: "4711",
    startTimestamp,
    commitTimestamp: outcome === "committed" ? end : undefined,
    outcome,
    label: isLoad ? "load" : undefined,
    observer: isLoad ? undefined : runs[index % 4],
    phases: outcome === "committed" ? 2 : undefined,
    endedAt: end / 1_000,
    durationMs,
    reads: Math.floor(random() * 14),
    cells: outcome === "committed" ? 1 + Math.floor(random() * 6) : 0,
    tables: ["documents"],
    cause: isLoad
      ? undefined
      : { cell: cellOf(index - (index % 4)), commitTimestamp: startTimestamp - 9_000 },
    conflict:
      outcome === "conflict"
        ? {
            cell: { ...cellOf(index), column: "hash" },
            winnerTimestamp: startTimestamp + 400,
            winner: "cluster",
          }
        : undefined,
    error:
      outcome === "rolled back"
        ? "TypeError: Cannot read properties of undefined (reading 'length')"
        : undefined,
  };
}

export function transactions(query: URLSearchParams, newest: number): readonly TransactionShown[] {
  const limit = Number(query.get("limit") ?? 100);
  const [label, observer, outcome] = ["label", "observer", "outcome"].map((name) => query.get(name) ?? "");
  const list = query.get("list") ?? "recent";
  const slowerThanMs = Number(query.get("slowerThanMs") ?? 0);
  const all: TransactionShown[] = [];
  for (let index = newest; index >= 0 && (list === "slow" || all.length < limit); index--) {
    const transaction = transactionAt(index);
    if (label && transaction.label !== label) continue;
    if (observer && transaction.observer !== observer) continue;
    if (outcome && transaction.outcome !== outcome) continue;
    if (transaction.durationMs < slowerThanMs) continue;
    if (list === "conflicts" && transaction.outcome !== "conflict") continue;
    if (list === "failed" && transaction.outcome !== "rolled back") continue;
    all.push(transaction);
  }
  return list === "slow" ? all.sort((a, b) => b.durationMs - a.durationMs).slice(0, limit) : all;
}

export function transactionDetail(id: string): TransactionDetail | undefined {
  const index = Number(id.slice(1));
  if (!/^t\d+$/.test(id)) return undefined;
  const transaction = transactionAt(index);
  const cell = cellOf(index);
  const ms = transaction.durationMs;
  const span = (name: string, from: number, to: number, kind: "read" | "wait" | "step", of?: CellName) => ({
    name,
    fromMs: from * ms,
    toMs: to * ms,
    cell: of,
    kind,
  });
  return {
    ...transaction,
    spans: [
      span("get", 0.02, 0.11, "read", cell),
      span("get", 0.03, 0.16, "read", { ...cell, column: "hash" }),
      span("wait for a lock", 0.16, 0.42, "wait", { ...cell, column: "hash" }),
      span("prewrite", 0.45, 0.7, "step"),
      span("commit timestamp", 0.7, 0.74, "step"),
      span("commit primary", 0.74, 0.95, "step", cell),
    ],
    read: [cell, { ...cell, column: "hash" }],
    written: [
      { ...cell, column: "title" },
      { ...cell, column: "anchors:עברית/🦉" },
    ],
    causedBy: transaction.cause === undefined ? undefined : transactionAt(index - (index % 4)),
    caused:
      transaction.outcome === "committed" && index % 4 === 0
        ? [1, 2, 3].map((more) => transactionAt(index + more))
        : [],
  };
}

export function conflictInsights(): ConflictInsights {
  const pair = (row: string, count: number, loser: string, winner: string, advice: string) => ({
    cell: { table: "clusters", row, column: "members" },
    count,
    loser,
    winner,
    lastAt: startedAt - 2_000,
    advice,
  });
  return {
    reach: "here",
    sinceMs: 600_000,
    columns: [
      {
        table: "clusters",
        column: "members",
        isInternal: false,
        count: 1_235,
        lastAt: startedAt - 2_000,
        rowCount: 2,
        rows: [
          { row: "93ab0011", count: 1_204 },
          { row: "11f0", count: 31 },
        ],
        pairs: [
          { loser: "cluster", winner: "cluster", count: 1_204 },
          { loser: "load", winner: "cluster", count: 31 },
        ],
        remedy:
          "Runs of cluster conflict on one row. Spread the shared row by hash (spread table recipe), or give cluster `concurrency: 1`.",
      },
      {
        table: "documents",
        column: "hash",
        isInternal: false,
        count: 2,
        lastAt: startedAt - 9_000,
        rowCount: 2,
        rows: [
          { row: "a", count: 1 },
          { row: "b", count: 1 },
        ],
        pairs: [{ loser: "load", winner: "load", count: 2 }],
        remedy: undefined,
      },
    ],
    pairs: [
      pair(
        "93ab0011",
        1_204,
        "cluster",
        "cluster",
        "Many runs write one cell: spread it over several rows, or combine what they add (see the combining recipe).",
      ),
      pair("11f0", 31, "load", "cluster", "A load and an observer meet now and then: retries are enough."),
    ],
  };
}
