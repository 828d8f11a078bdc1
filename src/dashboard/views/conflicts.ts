import { bindColumn, definition, isColumn, isFamily } from "../../schema/index.js";
import type { ConflictColumn, ConflictInsights } from "../api/index.js";
import { adviceOn, type Fight, remedyFor } from "../recording/advice.js";
import { addConflicts } from "../recording/conflict-counts.js";
import { type ConflictReport, windowMs } from "../recording/report.js";
import { sumByKey, sumOf } from "../recording/sums.js";
import { unseenTransaction } from "../recording/winners.js";
import { isInternalColumn } from "../text/internal.js";
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
      winner: pair.winner ?? gathered.winner(pair.winnerTimestamp) ?? unseenTransaction,
    })),
  );
  const pairs = sumByKey(named, keyOf, addConflicts);
  const observers = new Set(reports.flatMap((report) => Object.keys(report.observers)));
  const fightOf = ({ cell, loser, winner }: Pair, rows: number): Fight => ({
    cell,
    loser,
    winner,
    isLoserObserver: observers.has(loser),
    isWinnerObserver: observers.has(winner),
    isNumber: isNumber(tables, cell.table, cell.column),
    rows,
  });
  const shown = pairs.toSorted((a, b) => b.count - a.count || b.lastAt - a.lastAt).slice(0, maxPairs);
  return {
    reach,
    sinceMs: Math.round(Math.min(now - oldest, 2 * windowMs)),
    pairs: shown.map(({ cell, count, loser, winner, lastAt }) => {
      const rows = pairs.filter(
        (each) => each.loser === loser && each.winner === winner && each.cell.table === cell.table,
      ).length;
      const advice = adviceOn(
        fightOf({ cell, loser, winner, count, lastAt, winnerTimestamp: undefined }, rows),
      );
      return { cell, count, loser, winner, lastAt: Math.round(lastAt), advice };
    }),
    columns: columnsOf(pairs, (pair, rows, mostInRow) =>
      remedyFor({
        ...fightOf(pair, rows),
        isInternal: isInternalColumn(tables, pair.cell.table, pair.cell.column),
        mostInRow,
      }),
    )
      .map((each) => ({ ...each, isInternal: isInternalColumn(tables, each.table, each.column) }))
      .toSorted((a, b) => Number(a.isInternal) - Number(b.isInternal) || b.count - a.count)
      .slice(0, maxPairs),
  };
};

/** The most rows and pairs that a column shows. */
const maxShown = 5;

/** Adds up the pairs of each column. `remedyOf` gets the most frequent pair. */
function columnsOf(
  pairs: readonly Pair[],
  remedyOf: (pair: Pair, rows: number, mostInRow: number) => string | undefined,
): readonly Omit<ConflictColumn, "isInternal">[] {
  const columns = new Map<string, Pair[]>();
  for (const pair of pairs) {
    const { table, column } = pair.cell;
    // The cells of a family are one column.
    const key = `${table}.${column.split(":", 1)[0]}`;
    columns.set(key, [...(columns.get(key) ?? []), pair]);
  }
  return [...columns.values()].map((all) => {
    const most = <P extends { readonly count: number }>(items: readonly P[]) =>
      items.toSorted((a, b) => b.count - a.count);
    const rows = most(sumByKey(all, ({ cell }) => cell.row, addConflicts));
    const fights = most(sumByKey(all, ({ loser, winner }) => JSON.stringify([loser, winner]), addConflicts));
    const [{ cell }] = all as [Pair];
    return {
      table: cell.table,
      column: cell.column.split(":", 1)[0]!,
      count: sumOf(all, ({ count }) => count),
      lastAt: Math.round(Math.max(...all.map(({ lastAt }) => lastAt))),
      rowCount: rows.length,
      rows: rows.slice(0, maxShown).map(({ cell: { row }, count }) => ({ row, count })),
      pairs: fights.slice(0, maxShown).map(({ loser, winner, count }) => ({ loser, winner, count })),
      remedy: remedyOf(fights[0]!, rows.length, rows[0]!.count),
    };
  });
}

function keyOf({ cell: { table, row, column }, loser, winner }: Pair): string {
  return JSON.stringify([table, row, column, loser, winner]);
}

function isNumber(tables: KnownTables, table: string, column: string): boolean {
  const known = tables.table(table);
  const bound = known && bindColumn(known[definition], column.split(":")[0]!);
  if (bound === undefined || !(isColumn(bound) || isFamily(bound))) return false;
  return bound.codec.tag === "int" || bound.codec.tag === "float";
}
