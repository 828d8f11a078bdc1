import { eventLoopTurn } from "../../environment/index.js";
import type { Position } from "../../store/index.js";
import {
  bucketPrefix,
  buckets,
  type HintRange,
  hintPrefix,
  prefixRange,
  readHints,
  type StandingHint,
} from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { Sessions } from "../session/sessions.js";
import type { BucketAssignment } from "./bucket-assignment.js";
import { ForeignHints } from "./foreign-hints.js";
import type { HintScanner, HintScannerOptions } from "./scan-loop.js";

export interface BucketScannerOptions extends HintScannerOptions {
  readonly sessions: Pick<Sessions, "session" | "isHosting" | "notice">;
  readonly assignment: Pick<BucketAssignment, "owns" | "ownsAll">;
}

const pageHints = 256;
/**
 * Maximum number of jumps in one round. Further jumps would hardly find a place without another
 * scanner.
 */
const maxJumps = 8;
/** When this process takes on hints of other processes. */
interface Patience {
  /** How long it must have seen a hint unchanged, in milliseconds. */
  readonly ageMs: number;
  /** Time between two looks at such hints, in milliseconds. */
  readonly everyMs: number;
}

const patienceOfIdle: Patience = { ageMs: 2_000, everyMs: 250 };
/**
 * Applies while tasks of any observer are queued in this process. The other process may be as busy
 * as this one. If this one took on its hints, both would run the same hints, and half of the runs
 * would be wasted. Low-priority hints can wait for minutes in a busy process.
 */
const patienceOfBusy: Patience = { ageMs: 200_000, everyMs: 2_500 };
/** A walk over this process's buckets. It begins at a random place and ends there. */
interface Round {
  readonly ranges: HintRange[];
  /** The position with which to continue in the first range. */
  position: Position | undefined;
  jumps: number;
}

/**
 * Finds hints on a store without a cluster service. The processes divide the buckets among
 * themselves.
 */
export class BucketScanner implements HintScanner {
  readonly #options: BucketScannerOptions;
  readonly #prefix: Buffer;
  readonly #foreign: ForeignHints;
  #round: Round | undefined;
  #foreignAt = Number.NEGATIVE_INFINITY;

  constructor(options: BucketScannerOptions) {
    const { store, environment, observer, assignment, signal } = options;
    this.#options = options;
    this.#prefix = hintPrefix(observer.name);
    const isForeign = ({ bucket }: StandingHint) => !assignment.owns(observer, bucket);
    const prefix = this.#prefix;
    const oldMs = () => this.#patience.ageMs;
    this.#foreign = new ForeignHints({ store, environment, prefix, isForeign, oldMs, signal });
  }

  get observer(): Observer {
    return this.#options.observer;
  }

  /**
   * Looks for hints until the round is over or the queue is full. Returns how many hints the board
   * has taken on.
   */
  async scan(): Promise<number> {
    const { board, observer, assignment, sessions } = this.#options;
    await sessions.notice();
    if (!board.hasRoom(observer.name)) return 0;
    board.forgetOverflow(observer.name);
    const found = await (this.#round === undefined ? this.#begin() : this.#goOn(this.#round));
    if (found === undefined) return 0;
    if (!assignment.ownsAll(observer)) return found + (await this.#lookAtForeign());
    this.#foreign.forget();
    return found;
  }

  /** Whether the last scan stopped before the end of its round. */
  get isUnfinished(): boolean {
    return this.#round !== undefined;
  }

  /**
   * Reads a page from all hints, and begins a round if there are more. Returns how many hints the
   * board has taken on. Undefined if there are none, of any process.
   */
  async #begin(): Promise<number | undefined> {
    const { store, signal } = this.#options;
    const { hints, next } = await readHints(store, prefixRange(this.#prefix), pageHints, signal);
    if (hints.length === 0) return undefined;
    // There are mostly few hints. One read for each bucket would then take 64 times as long.
    if (next === undefined) return this.#takeAll(hints);
    this.#round = this.#newRound();
    return await this.#goOn(this.#round);
  }

  /**
   * Takes on the hints of a page that has all of them. If they do not fit into the queue, begins a
   * round, so that the next scan does not find the same ones first.
   */
  #takeAll(hints: readonly StandingHint[]): number {
    const { assignment, observer } = this.#options;
    let found = 0;
    for (const hint of hints) {
      if (!assignment.owns(observer, hint.bucket)) continue;
      const outcome = this.#offer(hint);
      if (outcome === "taken") found++;
      if (outcome === "full") {
        this.#round = this.#newRound();
        break;
      }
    }
    return found;
  }

  #newRound(): Round {
    const { environment, observer, assignment } = this.#options;
    const own = Array.from({ length: buckets }, (_, bucket) => bucket).filter((bucket) =>
      assignment.owns(observer, bucket),
    );
    const first = Math.floor(environment.random() * own.length);
    const order = [...own.slice(first), ...own.slice(0, first)];
    const ranges = order.map((bucket) => prefixRange(bucketPrefix(this.#prefix, bucket)));
    const start = ranges[0];
    if (start === undefined) return { ranges: [], position: undefined, jumps: 0 };
    // The round does not begin at the bucket's first hint, since other scanners may be there.
    const place = this.#randomPlace(start.start!.row);
    ranges[0] = { start: { row: place }, end: start.end };
    ranges.push({ start: start.start, end: place });
    return { ranges, position: undefined, jumps: 0 };
  }

  #randomPlace(prefix: Uint8Array): Buffer {
    const byte = () => Math.floor(this.#options.environment.random() * 256);
    return Buffer.concat([prefix, Buffer.of(byte(), byte())]);
  }

  async #goOn(round: Round): Promise<number> {
    const { assignment, observer, store, signal } = this.#options;
    let found = 0;
    while (round.ranges.length > 0) {
      const range = round.ranges[0]!;
      const page = await readHints(
        store,
        { start: round.position ?? range.start, end: range.end },
        pageHints,
        signal,
      );
      for (const hint of page.hints) {
        // Another process may have taken over the bucket since the round began.
        if (!assignment.owns(observer, hint.bucket)) continue;
        const outcome = this.#offer(hint);
        if (outcome === "taken") found++;
        if (outcome === "full") {
          round.position = { row: hint.address.row, column: hint.address.column };
          return found;
        }
        if (outcome === "others" && round.jumps < maxJumps) {
          this.#jump(round);
          return found + (await this.#goOn(round));
        }
      }
      round.position = page.next;
      if (page.next !== undefined) await eventLoopTurn(this.#options.environment);
      else round.ranges.shift();
    }
    this.#round = undefined;
    return found;
  }

  /**
   * Leaves the current range, on which another scanner works, for later in the round. Continues
   * with a random other range.
   */
  #jump(round: Round): void {
    round.jumps++;
    round.position = undefined;
    const places = round.ranges.length;
    const by = 1 + Math.floor(this.#options.environment.random() * Math.max(1, places - 1));
    round.ranges.push(...round.ranges.splice(0, by % places));
  }

  #offer(found: StandingHint): "taken" | "held" | "others" | "full" | "waits" {
    const { board, observer, owner, sessions } = this.#options;
    const { runner } = found.state;
    if (runner !== undefined && runner !== sessions.session) {
      // Ignores a runner that has ended or runs another version: it may not have removed its
      // announcement.
      if (sessions.isHosting(runner, observer.name, observer.version)) return "waits";
    }
    const cell = { table: observer.target.table.name, row: found.row, column: found.column };
    const { address: hint, timestamp, state } = found;
    const outcome = board.offer({ observer, cell, hint, timestamp, state, takenBy: owner });
    if (outcome !== "held") return outcome;
    const claimant = board.taskOf(observer.name, cell)?.takenBy;
    return claimant !== undefined && claimant !== owner ? "others" : "held";
  }

  /**
   * Reads hints in the buckets of other processes, and takes on those that have existed for a
   * while. The process that owns them may hang, be dead, or be overloaded. If the process is
   * handling a hint, the hint is usually gone at the second read.
   */
  async #lookAtForeign(): Promise<number> {
    const now = this.#options.environment.monotonic();
    if (now - this.#foreignAt < this.#patience.everyMs) return 0;
    this.#foreignAt = now;
    let found = 0;
    for (const { hint, ageMs } of await this.#foreign.look()) {
      if (ageMs >= this.#patience.ageMs && this.#offer(hint) === "taken") found++;
    }
    return found;
  }

  get #patience(): Patience {
    return this.#options.board.hasQueued ? patienceOfBusy : patienceOfIdle;
  }
}
