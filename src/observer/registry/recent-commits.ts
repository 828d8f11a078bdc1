import type { HandledCell, Hint } from "../../transaction/index.js";

/** A commit of this process. */
export interface RecentCommit {
  readonly commitTimestamp: number;
  /** The hints that it left: one for each observer of each changed cell. */
  readonly hints: readonly Hint[];
  /** What it handled, if it was the run of an observer. */
  readonly handled: HandledCell | undefined;
}

/** How much is remembered. A hint takes about 500 bytes, so this is at most some megabytes. */
const maxCommits = 4_096;
const maxHints = 8_192;

/**
 * The last commits of this process, oldest first. With them, the first `db.settled` knows what a
 * commit changed that was made just before, when no feed had it yet. A commit costs one entry here.
 */
export class RecentCommits {
  #commits: RecentCommit[] = [];
  #first = 0;
  #hints = 0;

  add(hints: readonly Hint[], commitTimestamp: number, handled: HandledCell | undefined): void {
    this.#commits.push({ commitTimestamp, hints, handled });
    this.#hints += hints.length;
    while (this.#commits.length - this.#first > maxCommits || this.#hints > maxHints) {
      this.#hints -= this.#commits[this.#first]!.hints.length;
      this.#first++;
    }
    if (this.#first <= maxCommits) return;
    this.#commits = this.#commits.slice(this.#first);
    this.#first = 0;
  }

  /** The commit with this timestamp. Undefined if this process did not make it, or has forgotten it. */
  find(commitTimestamp: number): RecentCommit | undefined {
    for (let place = this.#commits.length - 1; place >= this.#first; place--) {
      if (this.#commits[place]!.commitTimestamp === commitTimestamp) return this.#commits[place];
    }
    return undefined;
  }

  /** The runs among them, oldest first. */
  runs(): readonly RecentCommit[] {
    return this.#commits.slice(this.#first).filter(({ handled }) => handled?.isParked === false);
  }
}
