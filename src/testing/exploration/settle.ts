import { systemEnvironment } from "../../environment/index.js";

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
