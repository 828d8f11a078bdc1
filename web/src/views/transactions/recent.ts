import { useEffect, useRef, useState } from "preact/hooks";
import type { TransactionShown } from "../../../../src/dashboard/api.js";
import { apiPath } from "../../api/client.js";
import { onTransactions } from "../../api/stream.js";
import { type Answer, useApi } from "../../api/use-api.js";
import { type Filter, fits, maxKept, merged } from "./kept.js";

/**
 * Time between two requests for a list filtered by table. The stream does not say which tables a
 * transaction wrote, so the page must ask the server for this filter.
 */
const tableEveryMs = 2_000;
/** The list changes at most this often, so that it can be read. */
const renewMs = 250;

export interface Recent {
  readonly shown: readonly TransactionShown[];
  /** Transactions that came while the list was paused, counted up to `maxKept`. */
  readonly held: number;
  readonly answer: Answer<readonly TransactionShown[]>;
}

/** The newest transactions. The list follows new ones unless it is paused. */
export function useRecent(filter: Filter, isPaused: boolean): Recent {
  const isByTable = filter.table !== "";
  const path = apiPath("transactions", { ...filter, limit: maxKept });
  const answer = useApi<readonly TransactionShown[]>(
    path,
    isByTable && !isPaused ? tableEveryMs : undefined,
    false,
  );
  const came = useRef<TransactionShown[]>([]);
  const [shown, setShown] = useState<readonly TransactionShown[]>([]);
  const [held, setHeld] = useState(0);
  useEffect(() => {
    came.current = [];
    setHeld(0);
    setShown(answer.data === undefined ? [] : merged([], answer.data));
  }, [path, answer.data]);
  useEffect(() => {
    if (isByTable) return;
    return onTransactions((transactions) => {
      const fitting = transactions.filter((transaction) => fits(transaction, filter));
      came.current = [...came.current, ...fitting].slice(-maxKept);
    });
  }, [path]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (came.current.length === 0) return;
      if (isPaused) return setHeld(came.current.length);
      const newer = came.current;
      came.current = [];
      setHeld(0);
      setShown((before) => merged(newer, before));
    }, renewMs);
    return () => clearInterval(timer);
  }, [isPaused]);
  return { shown, held, answer };
}
