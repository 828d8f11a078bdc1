/** A broken invariant that a {@link ProtocolWatcher} has seen. */
export interface Violation {
  /** Its number in protocol §8.1. */
  readonly invariant: number;
  /** The invariant in a few words. */
  readonly name: string;
  /** The cell or other place, as text. */
  readonly where: string;
  /** What the watcher saw, with the timestamps. */
  readonly message: string;
}

const names = {
  1: "at most one lock per cell",
  2: "a lock and a write of one transaction exclude each other",
  3: "writers of one cell do not overlap",
  4: "a transaction starts before it commits",
  5: "one commit timestamp per transaction",
  6: "committed or rolled back, and never both",
  7: "all cells of a transaction commit with its primary",
  8: "a rolled-back transaction has written nothing",
  9: "every write names existing data",
  10: "a read answers its snapshot",
  11: "the reported outcome of a commit stays true",
  13: "the oracle's answers increase",
  14: "a due observer has its hint",
  15: "one committed run per change",
  16: "nothing is left over at rest",
  17: "collection drops nothing that is needed",
  19: "a bulk load is there as a whole, or not at all",
} as const;

export type InvariantNumber = keyof typeof names;

/** Reports each violation of an invariant once, even if later checks find it again. */
export class ViolationReporter {
  readonly #onViolation: (violation: Violation) => void;
  readonly #reported = new Set<string>();

  constructor(onViolation: (violation: Violation) => void) {
    this.#onViolation = onViolation;
  }

  report(invariant: InvariantNumber, where: string, message: string): void {
    const key = `${invariant} ${where} ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#onViolation({ invariant, name: names[invariant], where, message });
  }
}
