import { buckets } from "./hint.js";
import type { Observer } from "./observer.js";
import type { Sessions } from "./sessions.js";

/**
 * Which buckets of an observer's hints are this process's: each bucket belongs to one of the live sessions that run the
 * observer, by rendezvous hashing, so that a session that comes or goes moves only its own part.
 */
export class Shares {
  readonly #sessions: Sessions;
  readonly #owned = new Map<string, readonly boolean[]>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
    sessions.onChange(() => this.#owned.clear());
  }

  owns({ name, version }: Observer, bucket: number): boolean {
    let owned = this.#owned.get(name);
    if (owned === undefined) {
      owned = divide(this.#sessions.session, this.#sessions.hosting(name, version), name);
      this.#owned.set(name, owned);
    }
    return owned[bucket] ?? true;
  }

  /** Whether all buckets are this process's. */
  ownsAll({ name, version }: Observer): boolean {
    const hosting = this.#sessions.hosting(name, version);
    return hosting.length === 0 || (hosting.length === 1 && hosting[0] === this.#sessions.session);
  }

  /** Forgets what was divided: this process hosts other observers than before. */
  reset(): void {
    this.#owned.clear();
  }
}

function divide(own: string, sessions: readonly string[], observer: string): readonly boolean[] {
  const others = sessions.filter((session) => session !== own);
  return Array.from({ length: buckets }, (_, bucket) => {
    const place = `${observer}\0${bucket}`;
    const weight = weigh(own, place);
    return others.every((other) => {
      const theirs = weigh(other, place);
      return theirs < weight || (theirs === weight && other < own);
    });
  });
}

function weigh(session: string, place: string): number {
  let hash = 0x811c9dc5;
  const text = `${session}\0${place}`;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  // Mixed once more: strings that differ in their ends only would weigh nearly alike.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
