import type { Environment } from "../../environment/index.js";
import type { CommitCompany } from "../../store/index.js";

/**
 * For so long a run is expected to commit soon, in milliseconds. Runs that take longer differ in how
 * much longer, so that the commits of others would wait for them in vain.
 */
const expectedMs = 25;

/**
 * The runs of this process that began a moment ago and have not come to their commit. The changes of
 * one commit start many runs at once, and nobody waits for one of them, so their commits may wait for
 * one another and share a group.
 */
export class RunsUnderWay implements CommitCompany {
  readonly #environment: Environment;
  /** When each run began, the oldest first. */
  readonly #begun = new Map<symbol, number>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  get expected(): number {
    const since = this.#environment.monotonic() - expectedMs;
    for (const [run, begunAt] of this.#begun) {
      if (begunAt >= since) break;
      this.#begun.delete(run);
    }
    return this.#begun.size;
  }

  /** A run begins. Call the returned function when it comes to its commit, or ends without one. */
  begin(): () => void {
    const run = Symbol();
    this.#begun.set(run, this.#environment.monotonic());
    return () => void this.#begun.delete(run);
  }
}
