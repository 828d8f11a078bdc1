import { useEffect, useRef, useState } from "preact/hooks";
import type { TransactionShown } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { type Answer, useApi } from "../../api/use-api.js";
import { useAbout } from "../../state/about.js";

export interface Filter {
  readonly label: string;
  readonly observer: string;
  readonly table: string;
  /** In milliseconds. Empty: any. */
  readonly slowerThanMs: string;
}

export type SortedBy = "outcome" | "ended" | "took" | "reads" | "cells";

/** The most transactions of a list in the page. */
const limit = 200;
const everyMs = 2_000;
/** The most transactions of earlier lists whose details can still be shown in part. */
const maxSeen = 1_000;

const seen = new Map<string, TransactionShown>();

/** A transaction that some list has shown, even if the server no longer knows its details. */
export function seenTransaction(id: string): TransactionShown | undefined {
  return seen.get(id);
}

export interface Listed {
  readonly shown: readonly TransactionShown[];
  /** The labels of all transactions that the list has shown. */
  readonly labels: readonly string[];
  readonly answer: Answer<readonly TransactionShown[]>;
  /** When the list was paused. Undefined if it is not. */
  readonly pausedAt: number | undefined;
  readonly setPaused: (isPaused: boolean) => void;
}

/**
 * A list of transactions that follows the server. While it is paused, it has the transactions that
 * it had then, and filters apply to these.
 */
export function useListed(list: string, filter: Filter): Listed {
  const [paused, setPaused] = useState<{ readonly at: number; readonly all: readonly TransactionShown[] }>();
  const path = apiPath("transactions", { list, ...filter, limit });
  const answer = useApi<readonly TransactionShown[]>(paused === undefined ? path : undefined, everyMs, false);
  const { now: startedAt } = useAbout();
  const labels = useRef(new Set<string>());
  useEffect(() => {
    for (const transaction of answer.data ?? []) {
      seen.set(transaction.id, transaction);
      if (seen.size > maxSeen) seen.delete(seen.keys().next().value!);
      if (transaction.label !== undefined && labels.current.size < limit)
        labels.current.add(transaction.label);
    }
  }, [answer.data]);
  const all = paused?.all ?? answer.data ?? [];
  return {
    shown: paused === undefined ? all : all.filter((transaction) => fits(transaction, filter)),
    labels: [...labels.current].sort(),
    answer,
    pausedAt: paused?.at,
    setPaused: (isPaused) => setPaused(isPaused ? { at: overview.value?.now ?? startedAt, all } : undefined),
  };
}

export function fits({ label, observer, tables, durationMs }: TransactionShown, wanted: Filter): boolean {
  return (
    (wanted.label === "" || label === wanted.label) &&
    (wanted.observer === "" || observer === wanted.observer) &&
    (wanted.table === "" || tables.includes(wanted.table)) &&
    durationMs >= Number(wanted.slowerThanMs)
  );
}

const badness = { committed: 0, conflict: 1, "rolled back": 2 } as const;

const figures: Readonly<Record<SortedBy, (transaction: TransactionShown) => number>> = {
  outcome: ({ outcome }) => badness[outcome],
  ended: ({ endedAt }) => endedAt,
  took: ({ durationMs }) => durationMs,
  reads: ({ reads }) => reads,
  cells: ({ cells }) => cells,
};

/** Sorts by a figure, the worst, largest or newest first. Of equal ones, the newest. */
export function sorted(transactions: readonly TransactionShown[], by: SortedBy): readonly TransactionShown[] {
  const figure = figures[by];
  return transactions.toSorted((a, b) => figure(b) - figure(a) || b.endedAt - a.endedAt);
}
