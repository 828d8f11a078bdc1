import type { ConflictReport } from "./report.js";
import { nameless } from "./winners.js";

/** A conflict, with what is known about its cell. */
export interface Fight extends Pick<ConflictReport, "loser" | "cell"> {
  readonly winner: string;
  /** Whether loser and winner are observers. */
  readonly isLoserObserver: boolean;
  readonly isWinnerObserver: boolean;
  /** Whether the codec of the column is one of numbers. */
  readonly isNumber: boolean;
  /** In how many rows of the table the two conflicted. */
  readonly rows: number;
}

/** From this many rows on, no single row is hot. */
const manyRows = 8;

/** One line of advice against conflicts of this kind. */
export function adviceOn(fight: Fight): string {
  const { loser, winner, isLoserObserver, isWinnerObserver, isNumber, rows } = fight;
  const { table, column } = fight.cell;
  if (column === "*") {
    return `A serializable read of a range of ${table} meets each write into it: narrow the range, or read under "snapshot".`;
  }
  if (isNumber) {
    return `Many transactions add to one number: collect the additions with the combine queue recipe, so that ${table}.${column} has one writer.`;
  }
  if (loser === winner && isLoserObserver) {
    return rows >= manyRows
      ? `Runs of ${loser} meet in ${rows} rows: lower its \`concurrency\`, or derive the row from what it runs for.`
      : `Runs of ${loser} meet on ${rows === 1 ? "one row" : `${rows} rows`}: spread by hash what they share (spread table recipe), or give ${loser} \`concurrency: 1\`.`;
  }
  if (isLoserObserver && isWinnerObserver) {
    return `${loser} and ${winner} write the same cell: let one of them own ${table}.${column}, and the other write a column of its own.`;
  }
  if (isLoserObserver) {
    return `${winner} writes what ${loser} writes too: let ${loser} write a column of its own, or keep ${winner} short.`;
  }
  if (isWinnerObserver) {
    return `${winner} wins against ${calling(loser)}: read less before the write, or let ${calling(loser)} notify and ${winner} do the writing.`;
  }
  if (loser === winner) {
    return `Several ${calling(loser)} run at once on this cell: make them shorter, spread the row by hash, or queue the changes.`;
  }
  return `${calling(loser)} and ${calling(winner)} overlap: read late, commit early, and keep waiting for others out of the transaction.`;
}

function calling(name: string): string {
  return name === nameless ? "transactions without a label" : `"${name}"`;
}
