import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Has everything collected that nobody holds; what is held weakly, too, by the next turn. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
