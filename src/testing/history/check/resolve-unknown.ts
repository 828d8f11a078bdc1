import type { RecordedValue } from "../history.js";
import type { Cell, CheckedTransaction, Version } from "./checked-history.js";

/** The value that a snapshot at a start timestamp showed for a cell. */
interface Sighting {
  readonly start: number;
  readonly value: RecordedValue;
}

/**
 * Decides which transactions of unknown outcome have committed: those that a read has seen. Each
 * gets the latest commit timestamp that the reads and the other writers allow. All constraints have
 * the form "not after" or "after", so if any timestamp explains the reads, the latest one does. If
 * the store was audited, only transactions that started below `collected` are undecided, because
 * their versions may have been collected.
 */
export function resolveUnknown(
  transactions: readonly CheckedTransaction[],
  collected = Number.POSITIVE_INFINITY,
): void {
  const unknown = transactions.filter(({ recorded, committed, writes, start }) => {
    return recorded.outcome.type === "unknown" && !committed && writes.size > 0 && start < collected;
  });
  if (unknown.length > 0) new Resolver(transactions, unknown).run();
}

class Resolver {
  /** For each transaction, the latest commit timestamp that is not yet excluded. */
  readonly #limits = new Map<CheckedTransaction, number>();
  readonly #unknown = new Map<Cell, CheckedTransaction[]>();
  readonly #sightings = new Map<Cell, Sighting[]>();

  constructor(transactions: readonly CheckedTransaction[], unknown: readonly CheckedTransaction[]) {
    for (const transaction of unknown) {
      for (const cell of transaction.writes.keys()) {
        this.#unknown.set(cell, [...(this.#unknown.get(cell) ?? []), transaction]);
        this.#sightings.set(cell, []);
      }
    }
    for (const reader of transactions) {
      reader.observe((observation) => {
        if (reader.hadWritten(observation)) return;
        this.#sightings.get(observation.cell)?.push({ start: reader.start, value: observation.value });
      });
    }
    for (const sightings of this.#sightings.values()) sightings.sort((a, b) => a.start - b.start);
  }

  run(): void {
    // The first pass decides the versions that only one transaction can have written. The second
    // pass matches the remaining versions to the remaining transactions.
    for (const guess of [false, true]) {
      let changed = true;
      while (changed) {
        changed = false;
        for (const cell of this.#unknown.keys()) if (this.#explain(cell, guess)) changed = true;
      }
    }
  }

  /**
   * Explains the reads of a cell by undecided writers, oldest first. Returns true if it decided a
   * writer.
   */
  #explain(cell: Cell, guess: boolean): boolean {
    let changed = false;
    for (const { start, value } of this.#sightings.get(cell)!) {
      const visible = cell.versions[cell.indexAt(start)];
      if (visible?.value === value) continue;
      const writer = this.#findWriter(cell, start, value, visible, guess);
      if (writer === undefined) continue;
      this.#limits.set(writer, start);
      this.#settle(writer);
      changed = true;
    }
    return changed;
  }

  #findWriter(
    cell: Cell,
    start: number,
    value: RecordedValue,
    visible: Version | undefined,
    guess: boolean,
  ): CheckedTransaction | undefined {
    const candidates = this.#unknown.get(cell)!.filter((writer) => {
      if (writer.start >= start || writer.finalValue(cell) !== value) return false;
      return (this.#limits.get(writer) ?? Number.POSITIVE_INFINITY) > start;
    });
    // Writers of a cell do not overlap, so a writer whose value replaced a version began after that
    // version.
    const disjoint = candidates.filter((writer) => visible === undefined || writer.start >= visible.commit);
    const fitting = disjoint.length > 0 ? disjoint : guess ? candidates : [];
    if (fitting.length <= 1) return fitting[0];
    const decided = fitting.find((writer) => writer.committed);
    if (decided !== undefined || !guess) return decided;
    return fitting.find((writer) => !this.#isContradicted(writer, start)) ?? fitting[0];
  }

  /**
   * Whether a read proves that the writer did not commit by `start`: a read at or above `start` did
   * not show the value that the writer wrote, although no other version was committed between
   * `start` and that read.
   */
  #isContradicted(writer: CheckedTransaction, start: number): boolean {
    for (const cell of writer.writes.keys()) {
      for (const sighting of this.#sightings.get(cell)!) {
        if (sighting.start < start || sighting.value === writer.finalValue(cell)) continue;
        const visible = cell.versions[cell.indexAt(sighting.start)];
        if (visible === undefined || visible.commit <= start) return true;
      }
    }
    return false;
  }

  /**
   * Places the versions of a writer at the latest possible timestamp: before the versions of the
   * transactions that overwrote them.
   */
  #settle(writer: CheckedTransaction): void {
    let commit = this.#limits.get(writer)!;
    for (const cell of writer.writes.keys()) {
      cell.remove(writer);
      for (const version of cell.versions) {
        if (version.writer === undefined || version.commit <= writer.start) continue;
        if (version.writer.start > writer.start) commit = Math.min(commit, version.writer.start);
      }
    }
    writer.committed = true;
    writer.commit = commit;
    for (const cell of writer.writes.keys()) cell.add(commit, writer.finalValue(cell), writer);
    for (const earlier of this.#overlapping(writer)) {
      this.#limits.set(earlier, writer.start);
      this.#settle(earlier);
    }
  }

  /**
   * Returns the writers that were placed too late, as the decision about `writer` shows. Each of
   * them began before `writer`, wrote the same cell, and was placed after the start of `writer`.
   */
  #overlapping(writer: CheckedTransaction): ReadonlySet<CheckedTransaction> {
    const found = new Set<CheckedTransaction>();
    for (const cell of writer.writes.keys()) {
      for (const { writer: other, commit } of cell.versions) {
        if (other === undefined || !this.#limits.has(other)) continue;
        if (other.start < writer.start && commit > writer.start) found.add(other);
      }
    }
    return found;
  }
}
