import type { TransactionShown } from "../../../../src/dashboard/api.js";

export interface Filter {
  readonly label: string;
  readonly observer: string;
  readonly outcome: string;
  readonly table: string;
}

/** The most transactions kept in the page. */
export const maxKept = 500;

export function fits(transaction: TransactionShown, { label, observer, outcome }: Filter): boolean {
  return (
    (label === "" || transaction.label === label) &&
    (observer === "" || transaction.observer === observer) &&
    (outcome === "" || transaction.outcome === outcome)
  );
}

/** Merges transactions: newest first, each once, at most `maxKept`. */
export function merged(
  newer: readonly TransactionShown[],
  older: readonly TransactionShown[],
): readonly TransactionShown[] {
  const ids = new Set<string>();
  const all: TransactionShown[] = [];
  for (const transaction of [...newer, ...older]) {
    if (ids.has(transaction.id)) continue;
    ids.add(transaction.id);
    all.push(transaction);
  }
  return all.sort((a, b) => b.endedAt - a.endedAt).slice(0, maxKept);
}
