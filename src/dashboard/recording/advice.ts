import type { ConflictReport } from "./report.js";
import { unnamedTransaction, unseenTransaction } from "./winners.js";

/** A conflict, with what is known about its cell. */
export interface Fight extends Pick<ConflictReport, "loser" | "cell"> {
  readonly winner: string;
  /** Whether loser and winner are observers. */
  readonly isLoserObserver: boolean;
  readonly isWinnerObserver: boolean;
  /** Whether the column holds numbers. */
  readonly isNumber: boolean;
  /** In how many rows of the table the two conflicted. */
  readonly rows: number;
}

/** A column with conflicts: its most frequent pair, and how the conflicts spread over rows. */
export interface ColumnFight extends Fight {
  readonly isInternal: boolean;
  /** The most conflicts of one row. */
  readonly mostInRow: number;
}

/** Up to this many conflicts of one row are rare enough to be left to retries. */
const fewInRow = 5;

/** What helps against the conflicts of a column. Undefined if no row conflicted more than once. */
export function remedyFor(fight: ColumnFight): string | undefined {
  const { isInternal, mostInRow, isLoserObserver, loser } = fight;
  if (mostInRow <= 1) return undefined;
  if (isInternal)
    return "These are records of a recipe. Give its queue finer keys or more `buckets`, so that fewer updates share a row.";
  if (mostInRow <= fewInRow) {
    return isLoserObserver
      ? `Retries handle so few conflicts: ${loser} runs again by itself.`
      : `Retries handle so few conflicts. If ${calling(loser)} ends with a ConflictError, raise its \`retries\`.`;
  }
  return adviceOn(fight);
}

/** If the conflicts are in at least this many rows, no single row is hot. */
const manyRows = 8;

/** One line of advice against conflicts of this kind. */
export function adviceOn(fight: Fight): string {
  const { loser, winner, isLoserObserver, isWinnerObserver, isNumber, rows } = fight;
  const { table, column } = fight.cell;
  if (column === "*") {
    return `A serializable read of a range of ${table} conflicts with each write in it. Narrow the range, or read under "snapshot".`;
  }
  if (isNumber) {
    return `Many transactions add to one number. Collect the additions with the combine queue recipe, so that ${table}.${column} has one writer.`;
  }
  if (winner === unseenTransaction) {
    return "What wins is not seen here. Let its process serve a dashboard too, and name that with --from.";
  }
  if (loser === winner && isLoserObserver) {
    return rows >= manyRows
      ? `Runs of ${loser} conflict in ${rows} rows. Lower its \`concurrency\`, or let each run write a row of its own.`
      : `Runs of ${loser} conflict on ${rows === 1 ? "one row" : `${rows} rows`}. Spread the shared row by hash (spread table recipe), or give ${loser} \`concurrency: 1\`.`;
  }
  if (isLoserObserver && isWinnerObserver) {
    return `${loser} and ${winner} write the same cell. Let one of them own ${table}.${column}, and let the other write a column of its own.`;
  }
  if (isLoserObserver) {
    return `${calling(winner)} and ${loser} write the same cell. Let ${loser} write a column of its own, or keep ${calling(winner)} short.`;
  }
  if (isWinnerObserver) {
    return `${winner} wins against ${calling(loser)}. Read less before the write, or let ${calling(loser)} notify ${winner}, which then writes.`;
  }
  if (loser === winner) {
    return `Several ${calling(loser)} run at once on this cell. Let one process write a row: there, retries of db.transact take turns on each row. Or spread the row by hash, or queue the changes.`;
  }
  return `${calling(loser)} and ${calling(winner)} overlap. Read late, commit early, and do not wait for other services inside the transaction.`;
}

function calling(name: string): string {
  return name === unnamedTransaction ? "transactions without a label" : `"${name}"`;
}
