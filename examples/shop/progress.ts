import type { Database } from "percolatordb";
import { attachedTables } from "percolatordb/postgres";

/** Seconds between two lines: a first copy of many orders takes minutes. */
const everySeconds = 10;

/** Says every ten seconds how far the copy of the SQL tables is, and then how much waits for observers. */
export class CopyProgress implements Disposable {
  readonly #timer: NodeJS.Timeout;

  constructor(db: Database, say: (line: string) => void) {
    let last = "";
    const report = async () => {
      const line = await copyLine(db);
      if (line !== last) say(line);
      last = line;
    };
    // A failure of the database is told by what the program itself waits for.
    this.#timer = setInterval(() => void report().catch(() => undefined), everySeconds * 1_000);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** More are not counted. */
const mostCounted = 10_000;

/** How many rows are copied, or if all are, how many changes wait for observers. */
export async function copyLine(db: Database): Promise<string> {
  const tables = await attachedTables(db);
  if (tables.every(({ copy }) => copy.phase === "done")) {
    return `Every row is copied. ${await waiting(db)} changes wait for observers.`;
  }
  const rows = tables.reduce((sum, { copy }) => sum + copy.rows, 0);
  const all = tables.reduce((sum, { copy }) => sum + (copy.estimatedRows ?? Number.NaN), 0);
  return `${rows} ${Number.isNaN(all) ? "" : `of about ${all} `}rows are copied.`;
}

async function waiting(db: Database): Promise<string> {
  let count = 0;
  for await (const _ of db.pending()) {
    if (++count === mostCounted) return `${mostCounted} or more`;
  }
  return String(count);
}
