import type { Transaction } from "../index.js";

/**
 * Returns a function that runs calls one after the other in each transaction. Recipes use it for
 * calls that read and then write: two concurrent calls would otherwise both read the state before
 * either write. A failed call does not affect the next one.
 */
export function callsInTurn(): <T>(tx: Transaction, run: () => Promise<T>) => Promise<T> {
  const last = new WeakMap<Transaction, Promise<unknown>>();
  return (tx, run) => {
    const before = last.get(tx);
    const running = before === undefined ? run() : before.then(run, run);
    last.set(tx, running);
    return running;
  };
}
