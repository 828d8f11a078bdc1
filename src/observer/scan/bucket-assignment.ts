import { buckets } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { Sessions } from "../session/sessions.js";

/**
 * Which buckets of an observer's hints are this process's: each bucket belongs to one of the live
 * sessions that run the observer, by rendezvous hashing with a bound, so that all have equally
 * many, and a session that comes or goes moves little more than its own part.
 */
export class BucketAssignment {
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

/**
 * Each bucket goes to the session that weighs the most for it, of those that have not got their
 * full part yet: by weight alone one of two would often have half as much again as the other, and
 * the other would wait for it.
 */
function divide(own: string, hosting: readonly string[], observer: string): readonly boolean[] {
  const sessions = [own, ...hosting.filter((session) => session !== own)].sort();
  const most = Math.ceil(buckets / sessions.length);
  const counts = new Map(sessions.map((session) => [session, 0]));
  return Array.from({ length: buckets }, (_, bucket) => {
    const place = `${observer}\0${bucket}`;
    let best: string | undefined;
    let heaviest = -1;
    for (const session of sessions) {
      if (counts.get(session)! >= most) continue;
      const weight = weigh(session, place);
      if (weight > heaviest) [best, heaviest] = [session, weight];
    }
    counts.set(best!, counts.get(best!)! + 1);
    return best === own;
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
