import { systemEnvironment } from "../../environment/index.js";

/** Calls after which the event loop gets a turn. */
const maxWithoutTurn = 1_000;
let settled = 0;

/**
 * Runs everything that can run by itself: follows all settled promises to their ends. A tick runs
 * after the last microtask, and costs less than a turn of the event loop.
 */
export function settle(): Promise<void> {
  settled = (settled + 1) % maxWithoutTurn;
  return new Promise((resolve) => {
    if (settled === 0) systemEnvironment.defer(resolve);
    else process.nextTick(resolve);
  });
}
