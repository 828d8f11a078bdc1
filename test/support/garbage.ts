import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

declare const Bun: { gc(isSynchronous: boolean): void } | undefined;

/**
 * Runs a full garbage collection. Weakly held objects are gone by the next turn of the event loop.
 */
export function collectGarbage(): void {
  if (typeof Bun !== "undefined") Bun.gc(true);
  else {
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
  }
}
