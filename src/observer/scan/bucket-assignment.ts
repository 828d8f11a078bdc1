import { buckets } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { Sessions } from "../session/sessions.js";

/**
 * Which buckets of an observer's hints belong to this process. Each bucket belongs to one of the
 * live sessions that run the observer. The assignment uses rendezvous hashing with an upper bound
 * per session, so all sessions have nearly the same number of buckets. When a session starts or
 * ends, few buckets other than its own get a new owner.
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

  /** Whether all buckets belong to this process. */
  ownsAll({ name, version }: Observer): boolean {
    const hosting = this.#sessions.hosting(name, version);
    return hosting.length === 0 || (hosting.length === 1 && hosting[0] === this.#sessions.session);
  }

  /** Forgets the assignment, since this process now hosts other observers. */
  reset(): void {
    this.#owned.clear();
  }
}

/**
 * Gives each bucket to the session with the highest weight for it, among the sessions whose share
 * is not full. By weight alone, one of two sessions would often get 50% more buckets than the
 * other. The session with fewer buckets would then be idle part of the time.
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
  // Mixes the hash once more. Otherwise strings that differ only at their end would have similar
  // weights.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
