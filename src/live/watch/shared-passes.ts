import { unlessAborted } from "../../environment/index.js";
import type { WatchTarget } from "./watch-target.js";

/** What a pass is to find: the changes of a target after `since`, up to `upTo`. */
interface PassRequest {
  readonly target: WatchTarget;
  readonly since: number;
  readonly upTo: number;
  /** Whether it is the caller's first pass, which also resolves locks. */
  readonly isFirst: boolean;
  readonly signal?: AbortSignal | undefined;
}

interface Pass<T> {
  readonly since: number;
  readonly found: Promise<T>;
  readonly ending: AbortController;
  callers: number;
}

/**
 * The passes through tables that run now. Watches that begin together, as when the clients of a
 * server connect again, share one pass instead of reading the table once each.
 */
export class SharedPasses<T> {
  readonly #running = new Map<string, Pass<T>>();

  /**
   * Joins a pass for the same target that began at `since` or earlier, or starts one. The changes that
   * it finds may begin before `since`. A pass ends early when all its callers have given up.
   */
  async run(
    { target, since, upTo, isFirst, signal }: PassRequest,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const key = `${upTo} ${isFirst} ${target.id}`;
    let pass = this.#running.get(key);
    if (pass === undefined || pass.since > since) {
      const ending = new AbortController();
      pass = { since, found: start(ending.signal), ending, callers: 0 };
      this.#running.set(key, pass);
    }
    pass.callers++;
    try {
      return await unlessAborted(pass.found, signal, "Reading earlier changes");
    } finally {
      if (--pass.callers === 0) {
        pass.ending.abort();
        if (this.#running.get(key) === pass) this.#running.delete(key);
      }
    }
  }
}
