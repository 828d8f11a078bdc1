import { abortError, onAbort } from "../../../environment/index.js";
import type { CellView } from "../../cell.js";
import { byteaArray, bytesOf, int4Array, int8Array, maxInt8 } from "../wire/arrays.js";
import type { Row } from "../wire/client.js";
import { type Connections, type Statement, statement } from "../wire/connections.js";
import { NoAnswer, QueryFailure, storeError } from "../wire/failure.js";

/**
 * The most columns of one query. More make the answer of the first wait for the last, and fewer
 * make more round trips.
 */
const maxColumns = 500;
/** The most bytes of values in one answer. Each takes twice as much memory while it is received. */
const maxBytes = 16 << 20;
/** The most queries under way. A pool keeps connections free for commits and flushes. */
const defaultInFlight = 4;
/**
 * So many reads must wait for each query under way before another one is sent. Fewer share the next
 * query, which costs both sides less than one more.
 */
const readsPerQuery = 32;

/** A read of few columns of one row, each by its exact name. */
export interface ColumnsRead {
  readonly table: number;
  readonly row: Uint8Array;
  readonly columns: readonly Uint8Array[];
  readonly at: number;
}

interface Waiting extends ColumnsRead {
  /** The monotonic time at which it must be over. */
  readonly until: number;
  resolve(cells: readonly CellView[]): void;
  reject(error: unknown): void;
}

/**
 * Sends the reads of one turn of the event loop as one query, whatever their tables, columns and
 * timestamps. A query has one snapshot, so each row is read atomically. While a query is under way,
 * further reads wait and share the next one, unless many wait.
 */
export class GatheredReads {
  readonly #connections: Connections;
  readonly #query: Statement;
  readonly #maxInFlight: number;
  #waiting: Waiting[] = [];
  #inFlight = 0;
  #isScheduled = false;

  constructor(connections: Connections, schema: string, maxInFlight = defaultInFlight) {
    this.#connections = connections;
    this.#maxInFlight = maxInFlight;
    this.#query = statement(query(schema));
  }

  read(read: ColumnsRead, signal: AbortSignal | undefined): Promise<readonly CellView[]> {
    const until = this.#connections.deadline();
    return new Promise((resolve, reject) => {
      if (signal === undefined) {
        this.#push({ ...read, until, resolve, reject });
        return;
      }
      // If a caller gives up, the query continues for the others.
      const stop = onAbort(signal, () => reject(abortError(signal, "A read")));
      this.#push({
        ...read,
        until,
        resolve: (cells) => {
          stop();
          resolve(cells);
        },
        reject: (error) => {
          stop();
          reject(error);
        },
      });
    });
  }

  #push(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#isScheduled || !this.#maySend()) return;
    this.#isScheduled = true;
    this.#connections.environment.defer(() => {
      this.#isScheduled = false;
      while (this.#maySend()) this.#send();
    });
  }

  #maySend(): boolean {
    const least = Math.max(1, readsPerQuery * this.#inFlight);
    return this.#inFlight < this.#maxInFlight && this.#waiting.length >= least;
  }

  /** Rejects the reads that have waited for the queries before them until their deadline. */
  #rejectLate(): void {
    const { environment, place } = this.#connections;
    const now = environment.monotonic();
    const onTime = this.#waiting.findIndex(({ until }) => now < until);
    for (const each of this.#waiting.splice(0, onTime < 0 ? this.#waiting.length : onTime)) {
      const failure = new QueryFailure(new NoAnswer("earlier reads had no answer in time"), false);
      each.reject(storeError(failure, "read rows", place));
    }
  }

  #send(): void {
    this.#rejectLate();
    if (this.#waiting.length === 0) return;
    let columns = 0;
    let count = 0;
    for (const each of this.#waiting) {
      if (count > 0 && columns + each.columns.length > maxColumns) break;
      columns += each.columns.length;
      count++;
    }
    const reads = this.#waiting.splice(0, count);
    this.#inFlight++;
    this.#answer(reads)
      .catch((error: unknown) => {
        for (const each of reads) each.reject(error);
      })
      .finally(() => {
        this.#inFlight--;
        if (!this.#isScheduled && this.#maySend()) this.#send();
      });
  }

  /** Answers all reads. If the values are too many bytes for one answer, asks again for the rest. */
  async #answer(reads: readonly Waiting[]): Promise<void> {
    let left = reads;
    let bytes: number | string = maxBytes;
    while (left.length > 0) {
      const cut = await this.#ask(left, bytes);
      const more = left.filter((_, index) => cut.has(index));
      // Not even the first row fits, so it comes by itself.
      const isAlone = more.length === left.length;
      if (isAlone && left.length > 1) {
        await this.#ask(left.slice(0, 1), maxInt8);
        left = left.slice(1);
      } else {
        bytes = isAlone ? maxInt8 : maxBytes;
        left = more;
      }
    }
  }

  /** Answers the reads that fit into an answer of so many bytes. Returns the indexes of the others. */
  async #ask(reads: readonly Waiting[], bytes: number | string): Promise<ReadonlySet<number>> {
    const tables: number[] = [];
    const rows: Uint8Array[] = [];
    const columns: Uint8Array[] = [];
    const ats: number[] = [];
    const owners: number[] = [];
    for (let index = 0; index < reads.length; index++) {
      const { table, row, columns: wanted, at } = reads[index]!;
      for (const column of wanted) {
        tables.push(table);
        rows.push(row);
        columns.push(column);
        ats.push(Math.floor(at));
        owners.push(index);
      }
    }
    const values = [int4Array(tables), byteaArray(rows), byteaArray(columns), int8Array(ats), bytes];
    const answer = await this.#connections.repeat(this.#query, values, "read rows", reads.at(-1)!.until);
    const cells: CellView[][] = reads.map(() => []);
    const cut = new Set<number>();
    for (const found of answer) {
      const index = Number(found[0]) - 1;
      if (found[6] === "t") cut.add(owners[index]!);
      else {
        const view = viewOf(found, columns[index]!, ats[index]!);
        if (view !== undefined) cells[owners[index]!]!.push(view);
      }
    }
    for (const [index, read] of reads.entries()) if (!cut.has(index)) read.resolve(cells[index]!);
    return cut;
  }
}

/**
 * One index lookup for the lock, one for the newest write record, and one more if that is too new.
 * When the values before a cell have `$5` bytes, the answer only says that there is a cell (`cut`).
 */
function query(schema: string): string {
  const newest = (part: number, more: string) =>
    `select x.ts, x.value from ${schema}.cells x where x.tbl = k.tbl and x."row" = k.r and x.col = k.c ` +
    `and x.part = ${part}${more} order by x.ts desc limit 1`;
  return (
    "select s.i, s.lock_ts, case when s.cut then null else s.lock end, s.newest_ts, s.older_ts, " +
    "case when s.cut then null else s.write end, s.cut from (" +
    "select z.*, coalesce(sum(coalesce(octet_length(z.lock), 0) + coalesce(octet_length(z.write), 0)) over " +
    "(order by z.i rows between unbounded preceding and 1 preceding), 0) >= $5 cut from (" +
    "select k.i, l.ts lock_ts, l.value lock, n.ts newest_ts, o.ts older_ts, " +
    "case when n.ts <= k.at then n.value else o.value end write " +
    "from unnest($1::int4[], $2::bytea[], $3::bytea[], $4::int8[]) with ordinality k(tbl, r, c, at, i) " +
    `left join lateral (${newest(0, " and x.ts <= k.at")}) l on true ` +
    `left join lateral (${newest(1, "")}) n on true ` +
    `left join lateral (${newest(1, " and x.ts <= k.at and n.ts > k.at")}) o on true ` +
    "where l.ts is not null or n.ts is not null) z) s order by s.i"
  );
}

function viewOf(found: Row, column: Uint8Array, at: number): CellView | undefined {
  const [, lockTs, lockValue, newestTs, olderTs, value] = found;
  const newest = newestTs === null ? undefined : Number(newestTs);
  const latest = newest === undefined || newest <= at;
  const timestamp = latest ? newest : olderTs === null ? undefined : Number(olderTs);
  if (timestamp === undefined && lockTs === null) return undefined;
  return {
    column,
    lock: lockTs === null ? undefined : { timestamp: Number(lockTs), value: bytesOf(lockValue!) },
    write: timestamp === undefined ? undefined : { timestamp, value: bytesOf(value!) },
    latest,
    data: [],
  };
}
