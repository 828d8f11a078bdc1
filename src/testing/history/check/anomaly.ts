/** The anomalies that {@link checkHistory} distinguishes, by their names in the literature. */
export type AnomalyKind =
  /** Dirty write: a cycle that consists only of writes over writes (Adya). */
  | "G0"
  /** Aborted read: a transaction read a value whose writer did not commit (Adya). */
  | "G1a"
  /** Intermediate read: a transaction read a value that the same writer later overwrote (Adya). */
  | "G1b"
  /** Circular information flow: a cycle of writes, and of reads of written values (Adya). */
  | "G1c"
  /** Read skew: a cycle with exactly one anti-dependency (Adya's G-single). */
  | "G-single"
  /**
   * Two readers see two writers in opposite orders: a cycle of anti-dependencies that are not
   * adjacent (Cerone).
   */
  | "long-fork"
  /**
   * Write skew between serializable transactions: a cycle with adjacent anti-dependencies on single
   * cells (Adya).
   */
  | "G2-item"
  /** As `G2-item`, but a transaction read the cell through a range: a phantom (Adya). */
  | "G2"
  /**
   * Lost update: two writers of a cell overlapped, and the later one had read the cell (Berenson).
   */
  | "P4"
  /** Two overlapping writers of a cell both committed. */
  | "overlapping-writers"
  /** A reader saw a transaction in one cell, and later did not see it in another (Bailis). */
  | "OTV"
  /** A reader did not see a transaction in one cell, and later saw it in another (Bailis). */
  | "fractured-read"
  /**
   * A transaction does not read its own write, or reads the same cell twice and gets different
   * results (Cerone's INT).
   */
  | "internal"
  /** A scan is out of order, repeats a cell, or leaves its range. */
  | "scan-order"
  /** A reader sees a version that was committed after its start (Adya's G-SIa, interference). */
  | "future-read"
  /** A reader misses a commit at or below its start (Adya's G-SIb, missed effects). */
  | "missed-write"
  /** A missed write whose commit the client knew of before the reader began. */
  | "stale-read"
  /** A client sees less than it saw before (Terry). */
  | "non-monotonic-read"
  /** A client does not see its own write after it was told that the write committed (Terry). */
  | "read-your-writes"
  /**
   * A transaction began after the commit of another one was reported, but its start timestamp is
   * below that commit's timestamp.
   */
  | "real-time"
  /** A value that no transaction wrote. */
  | "garbage"
  /** A write that was reported as committed is missing. */
  | "lost-write"
  /** A write is in the store although it was reported as not written. */
  | "resurrected-write"
  /** A transaction committed in part: in some of its cells, or at different commit timestamps. */
  | "atomicity"
  /** A commit timestamp is not above the start timestamp, or belongs to two transactions. */
  | "timestamps";

/** An anomaly that a check has found, and the transactions in it. */
export interface Anomaly {
  readonly kind: AnomalyKind;
  /** What happened, with transactions, cells and timestamps. */
  readonly message: string;
  /** The ids of the transactions. */
  readonly transactions: readonly number[];
}

/** Collects anomalies. It counts all of them, and keeps the first of each kind. */
export class Anomalies {
  readonly kept: Anomaly[] = [];
  readonly counts = new Map<AnomalyKind, number>();
  readonly #most: number;

  constructor(maxOfAKind: number) {
    this.#most = maxOfAKind;
  }

  add(kind: AnomalyKind, transactions: readonly { readonly id: number }[], message: () => string): void {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    if (count > this.#most) return;
    const ids = [...new Set(transactions.map(({ id }) => id))];
    this.kept.push({ kind, message: `${kind}: ${message()}`, transactions: ids });
  }
}
