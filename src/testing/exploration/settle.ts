import { systemEnvironment } from "../../environment/index.js";
import { TimeoutError } from "../../errors/index.js";

/** Calls after which the event loop gets a turn. */
const maxWithoutTurn = 1_000;
let settled = 0;

/**
 * Resolves when everything has run that can run by itself: all code that waits only for settled
 * promises. It waits for a tick of the process, because a tick runs after the last microtask and
 * costs less than a turn of the event loop.
 */
export function settle(): Promise<void> {
  settled = (settled + 1) % maxWithoutTurn;
  return new Promise((resolve) => {
    if (settled === 0) systemEnvironment.defer(resolve);
    else process.nextTick(resolve);
  });
}

/** Says that `what` has not settled although everything has run. Nothing in an exploration takes real time. */
export function neverSettles(what: string, program: string): string {
  return (
    `${what} of the program ${JSON.stringify(program)} never settles. It waits for something that never happens, ` +
    "or for something outside of the exploration, such as a file or a real timer."
  );
}

/**
 * Settles as `promise` does.
 *
 * @throws TimeoutError if it never settles.
 */
export async function settledByItself<T>(what: string, program: string, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const over = () => {
    isSettled = true;
  };
  Promise.resolve(promise).then(over, over);
  await settle();
  if (isSettled) return promise;
  throw new TimeoutError(neverSettles(what, program));
}
