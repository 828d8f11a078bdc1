import type { AuditedVersion, HistoryAudit } from "../history.js";
import type { Anomalies } from "./anomaly.js";
import type { Cell, CellIndex, CheckedTransaction } from "./checked-history.js";
import { show } from "./classify.js";

/** A cell's versions in the store, and which of these versions have a known writer. */
interface AuditedCell {
  readonly versions: readonly AuditedVersion[];
  readonly byCommit: ReadonlyMap<number, AuditedVersion>;
  readonly claimed: Set<AuditedVersion>;
}

/**
 * Compares the outcomes that clients received with the versions in the store at the end. Every
 * write of a reported commit must be in the store, at the commit's timestamp. The versions decide
 * which transactions of unknown outcome committed. The store may contain no other version.
 */
export function checkAudit(
  audit: HistoryAudit,
  transactions: readonly CheckedTransaction[],
  index: CellIndex,
  anomalies: Anomalies,
): void {
  new AuditCheck(audit, index, anomalies).run(transactions);
}

class AuditCheck {
  readonly #cells = new Map<Cell, AuditedCell>();
  readonly #safepoint: number;
  readonly #anomalies: Anomalies;

  constructor(audit: HistoryAudit, index: CellIndex, anomalies: Anomalies) {
    this.#safepoint = audit.safepoint;
    this.#anomalies = anomalies;
    for (const { cell, versions } of audit.cells) {
      const byCommit = new Map(versions.map((version) => [version.commitTimestamp, version]));
      this.#cells.set(index.cell(cell), { versions, byCommit, claimed: new Set() });
    }
  }

  run(transactions: readonly CheckedTransaction[]): void {
    for (const each of transactions) if (each.committed && each.commit !== undefined) this.#checkTold(each);
    this.#decideAll(transactions.filter(({ recorded }) => recorded.outcome.type === "unknown"));
    this.#checkRest(transactions);
  }

  /**
   * Decides all unknown outcomes. Several transactions may have started at the same time and
   * written the same value. The check first matches versions to transactions whose writes are all
   * in the store. It begins with the transactions that wrote most cells. The remaining transactions
   * committed in part, or not at all.
   */
  #decideAll(unknown: readonly CheckedTransaction[]): void {
    const most = [...unknown].sort((a, b) => b.writes.size - a.writes.size);
    const left = most.filter((writer) => !this.#isWhole(writer) || !this.#decide(writer));
    for (const writer of left) this.#decide(writer);
  }

  #isWhole(writer: CheckedTransaction): boolean {
    const commits = [...writer.writes.keys()].map((cell) => {
      const audited = this.#cells.get(cell);
      return audited && this.#find(audited, writer, cell)?.commitTimestamp;
    });
    return commits.every((commit) => commit !== undefined && commit === commits[0]);
  }

  #checkTold(writer: CheckedTransaction): void {
    const found: Cell[] = [];
    const lost: Cell[] = [];
    for (const cell of writer.writes.keys()) {
      const audited = this.#cells.get(cell);
      if (audited === undefined) continue;
      const exact = audited.byCommit.get(writer.commit!);
      const isExact = exact !== undefined && isBy(exact, writer, cell);
      const version = isExact ? exact : this.#find(audited, writer, cell);
      if (version !== undefined) {
        found.push(cell);
        this.#claim(version, writer, cell);
      } else if (!this.#mayBeCollected(cell, writer.commit!, writer.finalValue(cell))) lost.push(cell);
    }
    if (lost.length === 0) return;
    this.#anomalies.add(found.length > 0 ? "atomicity" : "lost-write", [writer], () => {
      const rest = found.length > 0 ? `, although its write of ${found.join(", ")} is there` : "";
      return `${writer} was reported as committed, but its write of ${lost.join(", ")} is not in the store${rest}.`;
    });
  }

  /**
   * Decides one unknown outcome. The transaction has committed if one of its versions is in the
   * store. In that case, its versions of all other cells must be in the store too. Returns whether
   * the transaction has committed.
   */
  #decide(writer: CheckedTransaction): boolean {
    const found = new Map<Cell, AuditedVersion>();
    for (const cell of writer.writes.keys()) {
      const audited = this.#cells.get(cell);
      const version = audited && this.#find(audited, writer, cell);
      if (version !== undefined) found.set(cell, version);
    }
    const [first] = found.values();
    if (first === undefined) return false;
    writer.committed = true;
    writer.commit = first.commitTimestamp;
    const lost: Cell[] = [];
    for (const cell of writer.writes.keys()) {
      const version = found.get(cell);
      cell.add(version?.commitTimestamp ?? writer.commit, writer.finalValue(cell), writer);
      if (version !== undefined) this.#claim(version, writer, cell);
      else if (!this.#mayBeCollected(cell, writer.commit, writer.finalValue(cell))) lost.push(cell);
    }
    if (lost.length === 0) return true;
    this.#anomalies.add("atomicity", [writer], () => {
      return `the store has the write of ${writer} in ${[...found.keys()].join(", ")}, but not in ${lost.join(", ")}.`;
    });
    return true;
  }

  #claim(version: AuditedVersion, writer: CheckedTransaction, cell: Cell): void {
    this.#cells.get(cell)!.claimed.add(version);
    if (version.commitTimestamp === writer.commit) return;
    cell.remove(writer);
    cell.add(version.commitTimestamp, version.value, writer);
    this.#anomalies.add("atomicity", [writer], () => {
      return `the store has the write of ${writer} in ${cell} at another commit timestamp, ${version.commitTimestamp}.`;
    });
  }

  /** Returns a version that the transaction may have written and that has no other writer. */
  #find(audited: AuditedCell, writer: CheckedTransaction, cell: Cell): AuditedVersion | undefined {
    return audited.versions.find((version) => isBy(version, writer, cell) && !audited.claimed.has(version));
  }

  /** Reports the versions whose writer has neither a reported commit nor an unknown outcome. */
  #checkRest(transactions: readonly CheckedTransaction[]): void {
    for (const [cell, { versions, claimed }] of this.#cells) {
      for (const version of versions) {
        if (claimed.has(version)) continue;
        if (cell.versions.some((own) => own.writer === undefined && own.commit === version.commitTimestamp)) {
          continue;
        }
        const writer = cell.writers.find((each) => !each.committed && isBy(version, each, cell));
        const stored = `${cell} = ${show(version.value)}, started at ${version.startTimestamp}, committed at ${version.commitTimestamp}`;
        if (writer !== undefined) {
          this.#anomalies.add("resurrected-write", [writer], () => {
            return `${writer} was reported as not written, but the store has ${stored}.`;
          });
        } else {
          this.#anomalies.add("garbage", transactions.slice(0, 0), () => {
            return `the store has ${stored}, but no recorded transaction wrote it.`;
          });
        }
      }
    }
  }

  /**
   * Whether garbage collection may have removed a version. It removes the versions that no snapshot
   * at or above the safepoint can see, and the delete markers below the safepoint.
   */
  #mayBeCollected(cell: Cell, commit: number, value: string | undefined): boolean {
    const audited = this.#cells.get(cell);
    if (audited === undefined) return true;
    if (commit > this.#safepoint) return false;
    if (value === undefined) return true;
    const isNewer = (timestamp: number) => timestamp > commit && timestamp <= this.#safepoint;
    return (
      audited.versions.some((version) => isNewer(version.commitTimestamp)) ||
      cell.versions.some((version) => isNewer(version.commit)) ||
      cell.writers.some((writer) => {
        return writer.recorded.outcome.type === "unknown" && writer.start < this.#safepoint;
      })
    );
  }
}

function isBy(version: AuditedVersion, writer: CheckedTransaction, cell: Cell): boolean {
  return version.startTimestamp === writer.start && version.value === writer.finalValue(cell);
}
