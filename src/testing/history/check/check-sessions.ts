import type { Anomalies } from "./anomaly.js";
import type { Cell, CheckedTransaction } from "./checked-history.js";

/** The newest version of a cell that a client knows of. */
interface Known {
  readonly commit: number;
  readonly by: CheckedTransaction;
  readonly written: boolean;
}

interface Moment {
  readonly at: number;
  readonly type: "begin" | "end";
  readonly transaction: CheckedTransaction;
}

/**
 * Checks that a client sees what it has seen or written before, or something newer, in every later
 * transaction.
 */
export function checkSessions(
  transactions: readonly CheckedTransaction[],
  anomalies: Anomalies,
  hasWrongReads: boolean,
): void {
  const clients = new Map<string, CheckedTransaction[]>();
  for (const transaction of transactions) {
    const { client, begun } = transaction.recorded;
    if (begun === undefined) continue;
    const known = clients.get(client);
    if (known === undefined) clients.set(client, [transaction]);
    else known.push(transaction);
  }
  for (const own of clients.values()) {
    const moments = momentsOf(own);
    if (hasWrongReads || goesBack(moments)) new Session(anomalies).follow(moments);
  }
}

function momentsOf(transactions: readonly CheckedTransaction[]): readonly Moment[] {
  const moments: Moment[] = [];
  for (const transaction of transactions) {
    const { begun, ended, operations } = transaction.recorded;
    moments.push({ at: begun!, type: "begin", transaction });
    if (ended === undefined) continue;
    // The recorded end of a snapshot is the moment at which the client got the snapshot. The client
    // can read from the snapshot after that.
    let at = ended;
    for (const operation of operations) {
      if (operation.type !== "write") at = Math.max(at, operation.completed);
    }
    moments.push({ at, type: "end", transaction });
  }
  return moments.sort((a, b) => a.at - b.at);
}

/**
 * Whether a transaction starts below the start or commit timestamp of an earlier transaction of the
 * same client. If none does, and all reads are correct, the client never sees less than before.
 */
function goesBack(moments: readonly Moment[]): boolean {
  let newest = 0;
  for (const { type, transaction } of moments) {
    if (type === "end") newest = Math.max(newest, transaction.start, transaction.commit ?? 0);
    else if (transaction.start < newest) return true;
  }
  return false;
}

class Session {
  readonly #anomalies: Anomalies;
  readonly #known = new Map<Cell, Known>();

  constructor(anomalies: Anomalies) {
    this.#anomalies = anomalies;
  }

  follow(moments: readonly Moment[]): void {
    for (const { type, transaction } of moments) {
      if (type === "begin") this.#compare(transaction);
      else this.#learn(transaction);
    }
  }

  #compare(transaction: CheckedTransaction): void {
    const missed = new Set<Cell>();
    forEachVersionShown(transaction, (cell, commit) => {
      const known = this.#known.get(cell);
      if (known === undefined || commit >= known.commit || missed.has(cell)) return;
      missed.add(cell);
      const kind = known.written ? "read-your-writes" : "non-monotonic-read";
      this.#anomalies.add(kind, [known.by, transaction], () => {
        const knew = `${known.by} had ${known.written ? "written" : "seen"} ${cell} as of ${known.commit}`;
        const now = commit < 0 ? "without a value" : `as of ${commit}`;
        return `${knew}, but ${transaction} of the same client, which began later, saw it ${now}.`;
      });
    });
  }

  #learn(transaction: CheckedTransaction): void {
    forEachVersionShown(transaction, (cell, commit) => this.#know(cell, commit, transaction, false));
    const { commit, recorded } = transaction;
    if (recorded.outcome.type !== "committed" || commit === undefined) return;
    for (const cell of transaction.writes.keys()) this.#know(cell, commit, transaction, true);
  }

  #know(cell: Cell, commit: number, by: CheckedTransaction, written: boolean): void {
    const known = this.#known.get(cell);
    if (known === undefined || commit > known.commit) this.#known.set(cell, { commit, by, written });
  }
}

/**
 * Visits the commit timestamp of each version that a transaction saw, or -1 if a cell had no
 * version.
 */
function forEachVersionShown(
  transaction: CheckedTransaction,
  visit: (cell: Cell, commit: number) => void,
): void {
  transaction.observe((observation) => {
    if (transaction.hadWritten(observation)) return;
    const { cell, value } = observation;
    const at = cell.indexShown(transaction.start, value);
    if (at !== undefined) visit(cell, at < 0 ? -1 : cell.versions[at]!.commit);
  });
}
