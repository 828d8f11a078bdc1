import { systemEnvironment } from "../../environment/index.js";

/** Settlings after which the event loop gets a turn. */
const maxWithoutTurn = 1_000;
let settled = 0;

/**
 * Lets everything happen that can happen by itself: all promises that are settled are followed to their ends. A tick comes when
 * no microtask is left, and costs less than a turn of the event loop.
 */
export function settle(): Promise<void> {
  settled = (settled + 1) % maxWithoutTurn;
  return new Promise((resolve) => {
    if (settled === 0) systemEnvironment.defer(resolve);
    else process.nextTick(resolve);
  });
}
