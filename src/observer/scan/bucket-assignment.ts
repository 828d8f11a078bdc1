import { buckets } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { Sessions } from "../session/sessions.js";

/** The sessions, as far as an assignment needs them. */
export type HostingSessions = Pick<Sessions, "session" | "hosting" | "onChange">;

/**
 * Which buckets of an observer's hints belong to this process. Each bucket belongs to one of the
 * live sessions that run the observer. The assignment uses rendezvous hashing with an upper bound
 * per session, so all sessions have nearly the same number of buckets. When a session starts or
 * ends, few buckets other than its own get a new owner.
 */
export class BucketAssignment {
  readonly #sessions: HostingSessions;
  readonly #shares = new Map<string, Share>();
  readonly #onMoved = new Set<() => void>();

  constructor(sessions: HostingSessions) {
    this.#sessions = sessions;
    sessions.onChange(() => this.renew());
  }

  owns({ name, version }: Observer, bucket: number): boolean {
    let share = this.#shares.get(name);
    if (share?.version !== version) {
      share = this.#shareOf(name, version);
      this.#shares.set(name, share);
    }
    return share.owned[bucket] ?? true;
  }

  /** Returns `before`, the present share, if the same sessions still run the observer. */
  #shareOf(name: string, version: number, before?: Share): Share {
    const { session } = this.#sessions;
    const others = this.#sessions.hosting(name, version).filter((each) => each !== session);
    const sessions = [session, ...others].sort();
    if (before?.sessions.join() === sessions.join()) return before;
    return { version, sessions, owned: divide(session, sessions, name) };
  }

  /** Calls `listener` when the buckets have been divided among other sessions than before. */
  onMoved(listener: () => void): void {
    this.#onMoved.add(listener);
  }

  /** Whether all buckets belong to this process. */
  ownsAll({ name, version }: Observer): boolean {
    const hosting = this.#sessions.hosting(name, version);
    return hosting.length === 0 || (hosting.length === 1 && hosting[0] === this.#sessions.session);
  }

  /** Divides the buckets again, since sessions or their observers may have changed. */
  renew(): void {
    let hasMoved = false;
    for (const [name, before] of this.#shares) {
      const share = this.#shareOf(name, before.version, before);
      if (share === before) continue;
      this.#shares.set(name, share);
      hasMoved = true;
    }
    if (hasMoved) for (const listener of this.#onMoved) listener();
  }
}

/** The buckets that this process owns for one version of an observer. */
interface Share {
  readonly version: number;
  /** The sessions that run it, including this one, in order. */
  readonly sessions: readonly string[];
  readonly owned: readonly boolean[];
}

/**
 * Gives each bucket to the session with the highest weight for it, among the sessions whose share
 * is not full. By weight alone, one of two sessions would often get 50% more buckets than the
 * other. The session with fewer buckets would then be idle part of the time.
 */
function divide(own: string, sessions: readonly string[], observer: string): readonly boolean[] {
  const most = Math.ceil(buckets / sessions.length);
  const counts = new Map(sessions.map((session) => [session, 0]));
  // One row has the same bucket for each observer. If all of its observers run in one process, a
  // change's way through them needs no other process's scan, and their reads find a warm cache.
  // More sessions than buckets must share by observer as well, or some would have nothing.
  const salt = sessions.length > buckets ? observer : "";
  return Array.from({ length: buckets }, (_, bucket) => {
    const place = `${salt}\0${bucket}`;
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
