import type { TransactionDetail, TransactionShown } from "../api.js";
import type { RecordedTransaction } from "../recording/report.js";
import type { Gathered } from "../sources/gathered.js";
import type { ViewContext } from "./context.js";

export interface TransactionFilter {
  readonly label: string | undefined;
  readonly observer: string | undefined;
  readonly outcome: TransactionShown["outcome"] | undefined;
  readonly table: string | undefined;
  readonly limit: number;
}

const maxCaused = 100;

/** The newest transactions that pass a filter. */
export async function transactions(
  { gathered }: ViewContext,
  filter: TransactionFilter,
): Promise<readonly TransactionShown[]> {
  const all = await gathered.transactions();
  return all
    .filter((each) => passes(each, filter))
    .slice(0, filter.limit)
    .map((each) => shown(gathered, each));
}

function passes(each: RecordedTransaction, { label, observer, outcome, table }: TransactionFilter): boolean {
  if (label !== undefined && each.label !== label) return false;
  if (observer !== undefined && each.observer !== observer) return false;
  if (outcome !== undefined && each.outcome !== outcome) return false;
  return table === undefined || touches(each, table);
}

function touches({ read, written, conflict, cause }: RecordedTransaction, table: string): boolean {
  if (conflict?.cell?.table === table || cause?.cell.table === table) return true;
  return read.some((cell) => cell.table === table) || written.some((cell) => cell.table === table);
}

/** A transaction as lists show it. */
export function shown(gathered: Gathered, transaction: RecordedTransaction): TransactionShown {
  const { spans: _, read: __, written: ___, conflict, ...rest } = transaction;
  return { ...rest, conflict: withWinner(gathered, conflict) };
}

function withWinner(
  gathered: Gathered,
  conflict: RecordedTransaction["conflict"],
): RecordedTransaction["conflict"] {
  if (conflict === undefined || conflict.winner !== undefined) return conflict;
  return { ...conflict, winner: gathered.winner(conflict.winnerTimestamp) };
}

/** Everything known about one transaction; undefined if no process remembers it. */
export async function transaction(
  { gathered }: ViewContext,
  id: string,
): Promise<TransactionDetail | undefined> {
  const all = await gathered.transactions();
  const found = all.find((each) => each.id === id);
  if (found === undefined) return undefined;
  const { cause, commitTimestamp } = found;
  // No two transactions of a database commit at one timestamp.
  const causedBy = cause && all.find((each) => each.commitTimestamp === cause.commitTimestamp);
  const caused =
    commitTimestamp === undefined
      ? []
      : all.filter((each) => each.cause?.commitTimestamp === commitTimestamp);
  return {
    ...found,
    conflict: withWinner(gathered, found.conflict),
    causedBy: causedBy && shown(gathered, causedBy),
    caused: caused.slice(0, maxCaused).map((each) => shown(gathered, each)),
  };
}
