import type { Transaction } from "../index.js";

/**
 * Lets calls that read and then write come one after the other in each transaction: begun at the same time, each would otherwise read
 * what was there before all of them. One that fails fails alone.
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
