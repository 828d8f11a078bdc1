import type { Anomalies } from "./anomaly.js";
import type { Cell, CheckedTransaction, Version } from "./checked-history.js";

/**
 * How many readers must miss a cell of a reported transaction before the cell counts as lost. A
 * single reader may have read too early.
 */
const minMissing = 2;

/**
 * Searches for transactions whose writes are missing from all reads that should have seen them. If
 * all writes of a transaction are missing, its reported commit is lost. If only some are missing,
 * the transaction committed in part.
 */
export function checkLosses(transactions: readonly CheckedTransaction[], anomalies: Anomalies): void {
  for (const writer of transactions) {
    if (!writer.committed || writer.commit === undefined) continue;
    const least = writer.recorded.outcome.type === "committed" ? minMissing : 1;
    const seen: Cell[] = [];
    const missed: { readonly cell: Cell; readonly version: Version }[] = [];
    for (const cell of writer.writes.keys()) {
      const version = versionOf(cell, writer);
      if (version === undefined) continue;
      if (version.seen > 0) seen.push(cell);
      else if (version.missedBy.size >= least) missed.push({ cell, version });
    }
    if (missed.length === 0) continue;
    const readers = missed.flatMap(({ version }) => [...version.missedBy]);
    anomalies.add(seen.length > 0 ? "atomicity" : "lost-write", [writer, ...readers], () => {
      const cells = missed.map(({ cell }) => cell).join(", ");
      const rest = seen.length > 0 ? `, while its write of ${seen.join(", ")} was seen` : "";
      return `none of the transactions that should see the write of ${cells} by ${writer} sees it (${[...new Set(readers)].join(", ")})${rest}.`;
    });
  }
}

function versionOf(cell: Cell, writer: CheckedTransaction): Version | undefined {
  const at = cell.indexAt(writer.commit!);
  const version = cell.versions[at];
  return version?.writer === writer ? version : undefined;
}
