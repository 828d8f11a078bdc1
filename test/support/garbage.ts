import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Runs a full garbage collection. Weakly held objects are gone by the next turn of the event loop.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
