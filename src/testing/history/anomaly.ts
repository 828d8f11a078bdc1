/** The anomalies that {@link checkHistory} tells apart, by the names of the literature where it has one. */
export type AnomalyKind =
  /** Dirty write: a cycle of writes over writes alone (Adya). */
  | "G0"
  /** Aborted read: a value of a transaction that did not commit (Adya). */
  | "G1a"
  /** Intermediate read: a value that its writer has overwritten itself (Adya). */
  | "G1b"
  /** Circular information flow: a cycle of writes and reads of what was written (Adya). */
  | "G1c"
  /** Read skew: a cycle with exactly one anti-dependency (Adya's G-single). */
  | "G-single"
  /** Two readers that see two writers in opposite orders: a cycle of anti-dependencies that do not adjoin (Cerone). */
  | "long-fork"
  /** Write skew between serializable transactions: a cycle with adjacent anti-dependencies on single cells (Adya). */
  | "G2-item"
  /** The same by a range that was read: a phantom (Adya). */
  | "G2"
  /** Lost update: two overlapping writers of a cell, the later of which had read it (Berenson). */
  | "P4"
  /** Two overlapping writers of a cell both committed. */
  | "overlapping-writers"
  /** A transaction was seen in one cell, and in another, afterwards, no longer (Bailis). */
  | "OTV"
  /** A transaction was seen in one cell and not yet in another that was read before (Bailis). */
  | "fractured-read"
  /** A transaction that does not read its own write, or the same cell differently twice (Cerone's INT). */
  | "internal"
  /** A scan that is out of order, repeats a cell, or leaves its range. */
  | "scan-order"
  /** A version that was committed after the reader's start (Adya's G-SIa, interference). */
  | "future-read"
  /** A commit at or below the reader's start that it missed (Adya's G-SIb, missed effects). */
  | "missed-write"
  /** The same, of a transaction that had been told committed before the reader began. */
  | "stale-read"
  /** A client that sees less than it saw before (Terry). */
  | "non-monotonic-read"
  /** A client that does not see what it was told committed (Terry). */
  | "read-your-writes"
  /** A transaction begun after another was told committed, with a start timestamp below its commit timestamp. */
  | "real-time"
  /** A value that nobody wrote. */
  | "garbage"
  /** Told committed, and not to be found. */
  | "lost-write"
  /** Told that nothing was written, and it stands in the store. */
  | "resurrected-write"
  /** A part of a transaction: some of its cells, or cells at different commit timestamps. */
  | "atomicity"
  /** A commit timestamp that is not above the start, or another's too. */
  | "timestamps";

/** Something that must not happen, with who was in it. */
export interface Anomaly {
  readonly kind: AnomalyKind;
  /** What happened, with transactions, cells and timestamps. */
  readonly message: string;
  /** The ids of the transactions in it. */
  readonly transactions: readonly number[];
}

/** Gathers anomalies: every one is counted, and of each kind the first are kept. */
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
