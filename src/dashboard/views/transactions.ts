import type { TransactionDetail, TransactionShown } from "../api/index.js";
import { transactionLists } from "../recording/kept-transactions.js";
import type { RecordedTransaction } from "../recording/report.js";
import { RequestError } from "../server/failure.js";
import type { GatheredReports } from "../sources/gathered.js";
import type { View } from "./context.js";

const outcomes: readonly TransactionShown["outcome"][] = ["committed", "conflict", "rolled back"];
const maxCaused = 100;

/** The transactions of a list that pass a filter. */
export const transactions: View<readonly TransactionShown[]> = async ({ gathered }, given) => {
  const wanted = {
    label: given.text("label"),
    observer: given.text("observer"),
    outcome: given.oneOf("outcome", outcomes),
  };
  const table = given.text("table");
  const slowerThanMs = given.whole("slowerThanMs") ?? 0;
  const list = given.oneOf("list", transactionLists) ?? "recent";
  const limit = given.limit();
  const isWanted = (each: RecordedTransaction) =>
    (wanted.label ?? each.label) === each.label &&
    (wanted.observer ?? each.observer) === each.observer &&
    (wanted.outcome ?? each.outcome) === each.outcome &&
    each.durationMs >= slowerThanMs &&
    (table === undefined || tablesOf(each).includes(table));
  const all = await gathered.transactions(list);
  return all
    .filter(isWanted)
    .slice(0, limit)
    .map((each) => shown(gathered, each));
};

/** The tables that a transaction read, wrote, conflicted on or ran for. */
function tablesOf({ read, written, conflict, cause }: RecordedTransaction): readonly string[] {
  const cells = [...read, ...written, conflict?.cell, cause?.cell];
  return [...new Set(cells.flatMap((cell) => (cell === undefined ? [] : [cell.table])))];
}

/** A transaction as lists show it. */
export function shown(gathered: GatheredReports, transaction: RecordedTransaction): TransactionShown {
  const { spans: _, read: __, written: ___, conflict, ...rest } = transaction;
  return { ...rest, tables: tablesOf(transaction), conflict: withWinner(gathered, conflict) };
}

function withWinner(
  gathered: GatheredReports,
  conflict: RecordedTransaction["conflict"],
): RecordedTransaction["conflict"] {
  if (conflict === undefined || conflict.winner !== undefined) return conflict;
  return { ...conflict, winner: gathered.winner(conflict.winnerTimestamp) };
}

/** Everything known about one transaction. */
export const transaction: View<TransactionDetail> = async ({ gathered }, given) => {
  const id = given.needed("id");
  const all = await gathered.everyTransaction();
  const found = all.find((each) => each.id === id);
  if (found === undefined) {
    throw new RequestError(
      404,
      "NOT_FOUND",
      "This transaction is no longer known: each process keeps only its newest transactions.",
    );
  }
  const { cause, commitTimestamp } = found;
  // A commit timestamp identifies a transaction: no two transactions of a database share one.
  const causedBy = cause && all.find((each) => each.commitTimestamp === cause.commitTimestamp);
  const caused =
    commitTimestamp === undefined
      ? []
      : all.filter((each) => each.cause?.commitTimestamp === commitTimestamp);
  return {
    ...found,
    tables: tablesOf(found),
    conflict: withWinner(gathered, found.conflict),
    causedBy: causedBy && shown(gathered, causedBy),
    caused: caused.slice(0, maxCaused).map((each) => shown(gathered, each)),
  };
};
