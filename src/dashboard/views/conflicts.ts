import { bindColumn, definition, isColumn, isFamily } from "../../schema/index.js";
import type { ConflictInsights } from "../api.js";
import { adviceOn } from "../recording/advice.js";
import { type ConflictReport, windowMs } from "../recording/report.js";
import { nameless } from "../recording/winners.js";
import type { KnownTables } from "../text/tables.js";
import type { ViewContext } from "./context.js";

const maxPairs = 100;

interface Pair extends ConflictReport {
  readonly winner: string;
}

/** Which transactions conflict with which over which cells, most frequent first, with advice. */
export async function conflicts(context: ViewContext): Promise<ConflictInsights> {
  const { gathered, environment, reach } = context;
  const [tables, reports] = await Promise.all([context.tables.current(), gathered.reports()]);
  const now = environment.now();
  const oldest = Math.min(...reports.map(({ since }) => since), now);
  const pairs = addPairs(
    reports.flatMap((report) =>
      report.pairs.map((pair) => ({
        ...pair,
        winner: pair.winner ?? gathered.winner(pair.winnerTimestamp) ?? nameless,
      })),
    ),
  );
  const observers = new Set(reports.flatMap((report) => Object.keys(report.observers)));
  const shown = pairs.toSorted((a, b) => b.count - a.count || b.lastAt - a.lastAt).slice(0, maxPairs);
  return {
    reach,
    sinceMs: Math.round(Math.min(now - oldest, 2 * windowMs)),
    pairs: shown.map(({ cell, count, loser, winner, lastAt }) => {
      const rows = pairs.filter(
        (each) => each.loser === loser && each.winner === winner && each.cell.table === cell.table,
      ).length;
      const advice = adviceOn({
        cell,
        loser,
        winner,
        isLoserObserver: observers.has(loser),
        isWinnerObserver: observers.has(winner),
        isNumber: isNumber(tables, cell.table, cell.column),
        rows,
      });
      return { cell, count, loser, winner, lastAt: Math.round(lastAt), advice };
    }),
  };
}

function addPairs(pairs: readonly Pair[]): readonly Pair[] {
  const sums = new Map<string, Pair>();
  for (const pair of pairs) {
    const { table, row, column } = pair.cell;
    const key = JSON.stringify([table, row, column, pair.loser, pair.winner]);
    const before = sums.get(key);
    const count = (before?.count ?? 0) + pair.count;
    sums.set(key, { ...pair, count, lastAt: Math.max(before?.lastAt ?? 0, pair.lastAt) });
  }
  return [...sums.values()];
}

function isNumber(tables: KnownTables, table: string, column: string): boolean {
  const known = tables.table(table);
  const bound = known && bindColumn(known[definition], column.split(":")[0]!);
  if (bound === undefined || !(isColumn(bound) || isFamily(bound))) return false;
  return bound.codec.tag === "int" || bound.codec.tag === "float";
}
