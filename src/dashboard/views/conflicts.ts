import { bindColumn, definition, isColumn, isFamily } from "../../schema/index.js";
import type { ConflictInsights } from "../api.js";
import { adviceOn } from "../recording/advice.js";
import { addConflicts } from "../recording/conflict-counts.js";
import { type ConflictReport, windowMs } from "../recording/report.js";
import { sumByKey } from "../recording/sums.js";
import { unnamedTransaction } from "../recording/winners.js";
import type { KnownTables } from "../text/tables.js";
import type { View } from "./context.js";

const maxPairs = 100;

interface Pair extends ConflictReport {
  readonly winner: string;
}

/** Which transactions conflict on which cells, most frequent first, with advice. */
export const conflicts: View<ConflictInsights> = async (context) => {
  const { gathered, environment, reach } = context;
  const [tables, reports] = await Promise.all([context.tables.get(), gathered.reports()]);
  const now = environment.now();
  const oldest = Math.min(...reports.map(({ since }) => since), now);
  const named = reports.flatMap((report) =>
    report.pairs.map((pair) => ({
      ...pair,
      winner: pair.winner ?? gathered.winner(pair.winnerTimestamp) ?? unnamedTransaction,
    })),
  );
  const pairs = sumByKey(named, keyOf, addConflicts);
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
};

function keyOf({ cell: { table, row, column }, loser, winner }: Pair): string {
  return JSON.stringify([table, row, column, loser, winner]);
}

function isNumber(tables: KnownTables, table: string, column: string): boolean {
  const known = tables.table(table);
  const bound = known && bindColumn(known[definition], column.split(":")[0]!);
  if (bound === undefined || !(isColumn(bound) || isFamily(bound))) return false;
  return bound.codec.tag === "int" || bound.codec.tag === "float";
}
