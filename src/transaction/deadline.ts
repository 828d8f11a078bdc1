import type { Environment } from "../environment/index.js";
import { TimeoutError } from "../errors/index.js";

/** A signal that follows another, and a deadline. */
export interface Deadline {
  readonly signal: AbortSignal | undefined;
  /** Frees the timer. */
  end(): void;
}

function doNothing(): void {}

const noDeadline: Deadline = Object.freeze({ signal: undefined, end: doNothing });

/** Joins a caller's signal with a deadline of `timeoutMs` from now, by the environment's timers. */
export function deadline(
  environment: Environment,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  doing: string,
): Deadline {
  if (timeoutMs === undefined) return signal === undefined ? noDeadline : { signal, end: doNothing };
  const controller = new AbortController();
  const follow = () => controller.abort(signal?.reason);
  if (signal?.aborted) follow();
  signal?.addEventListener("abort", follow, { once: true });
  const timer = environment.setTimer(() => {
    controller.abort(new TimeoutError(`${doing} did not finish within ${timeoutMs} ms`));
  }, timeoutMs);
  return {
    signal: controller.signal,
    end() {
      timer.cancel();
      signal?.removeEventListener("abort", follow);
    },
  };
}
