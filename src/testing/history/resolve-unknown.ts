import type { Cell, Version } from "./cell-index.js";
import type { CheckedTransaction } from "./checked-transaction.js";
import type { RecordedValue } from "./history.js";

/** What a snapshot at a start timestamp was shown of a cell. */
interface Sighting {
  readonly start: number;
  readonly value: RecordedValue;
}

/**
 * Decides which transactions of unknown outcome have committed: those of which something was seen. Their commit timestamp is then
 * the latest that the reads and the other writers allow. Every constraint is one of "not after" or one of "after", so
 * that if any timestamp explains the reads, the latest one does. Where the store was audited, only what may have been
 * collected since (started below `collected`) is open.
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
  /** The latest moment at which each was not yet seen to have committed later. */
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
    // What only one can have written is decided first; what several may have, by what then is left.
    for (const guess of [false, true]) {
      let changed = true;
      while (changed) {
        changed = false;
        for (const cell of this.#unknown.keys()) if (this.#explain(cell, guess)) changed = true;
      }
    }
  }

  /** Explains the sightings of a cell by unknown writers, oldest first. True where one was decided. */
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
    // Writers of a cell do not overlap: who is seen over a version began after it.
    const disjoint = candidates.filter((writer) => visible === undefined || writer.start >= visible.commit);
    const fitting = disjoint.length > 0 ? disjoint : guess ? candidates : [];
    if (fitting.length <= 1) return fitting[0];
    const decided = fitting.find((writer) => writer.committed);
    if (decided !== undefined || !guess) return decided;
    return fitting.find((writer) => !this.#isContradicted(writer, start)) ?? fitting[0];
  }

  /** Whether somebody should have seen the writer in one of its cells, had it committed by `start`, and did not. */
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

  /** Puts the versions of a writer where they can stand at the latest: before whoever wrote over them. */
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

  /** Those decided before that began before a writer of one of their cells, and were put to after its start: so late they were not. */
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
