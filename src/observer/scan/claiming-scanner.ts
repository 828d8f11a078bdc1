import { eventLoopTurn } from "../../environment/index.js";
import { byteString, type Position } from "../../store/index.js";
import { type HintRange, hintPrefix, prefixRange, readHints, type StandingHint } from "../hint/hint.js";
import type { Observer } from "../observer.js";
import type { Sessions } from "../session/sessions.js";
import type { Claims } from "./claims.js";
import type { HintScanner, HintScannerOptions } from "./scan-loop.js";
import { ScanPositions } from "./scan-positions.js";

export interface ClaimingScannerOptions extends HintScannerOptions {
  readonly sessions: Sessions;
  readonly claims: Claims;
}

const pageHints = 256;
/** How many hints to claim at a time. */
const claimsAtOnce = 32;
/**
 * The most jumps of one walk. A walk jumps to another random place if it meets another process's
 * claims. After the last jump it reads on through claimed hints, so that it finds unclaimed ones
 * among them.
 */
const maxJumps = 8;
/** The most pages of hints that one walk reads. The next walk begins at another random place. */
const maxPages = 64;
/** For how long a refused claim is not requested again, in milliseconds. */
const refusedMs = 1_000;
const maxRefused = 4_096;

/** A walk over the hints of an observer. It begins at a random place and ends there. */
interface Walk {
  ranges: HintRange[];
  /** The position with which to continue in the first range. */
  position: Position | undefined;
  jumps: number;
  pages: number;
}

/** The result of claiming some hints. */
interface Taking {
  readonly found: number;
  /** The first hint that was not claimed, because the queue was full. */
  readonly full: StandingHint | undefined;
  /** Whether another process had claimed some of the hints. */
  readonly hasMet: boolean;
}

/**
 * Finds the hints of one observer for one worker of a cluster (the paper, section 2.4). It begins
 * at a random place, and claims each hint before it takes the hint on. If it meets another
 * process's claim, it jumps to another random place. Any number of workers can thus divide the work
 * without knowing of each other.
 */
export class ClaimingScanner implements HintScanner {
  readonly #options: ClaimingScannerOptions;
  readonly #whole: HintRange;
  readonly #places: ScanPositions;
  /** Rows that another process has claimed, and until when not to request them again. */
  readonly #refused = new Map<string, number>();
  #walk: Walk | undefined;

  constructor(options: ClaimingScannerOptions) {
    const { store, environment, observer } = options;
    const prefix = hintPrefix(observer.name);
    this.#options = options;
    this.#whole = prefixRange(prefix);
    this.#places = new ScanPositions({ store, environment, prefix });
  }

  get observer(): Observer {
    return this.#options.observer;
  }

  /** Whether the last walk stopped before its end. */
  get isUnfinished(): boolean {
    return this.#walk !== undefined;
  }

  /**
   * Looks for hints until the walk is over or the queue is full. Returns how many hints the board
   * has taken on.
   */
  async scan(): Promise<number> {
    const { board, observer } = this.#options;
    if (!board.hasRoom(observer.name)) return 0;
    board.forgetOverflow(observer.name);
    this.#forgetRefused();
    this.#walk ??= { ranges: await this.#fromAnywhere(), position: undefined, jumps: 0, pages: 0 };
    return this.#goOn(this.#walk);
  }

  /**
   * The whole range of hints in two parts: from a random place to the end, and from the start to
   * that place.
   */
  async #fromAnywhere(): Promise<HintRange[]> {
    const place = await this.#places.next();
    return [
      { start: { row: place }, end: this.#whole.end },
      { start: this.#whole.start, end: place },
    ];
  }

  async #goOn(walk: Walk): Promise<number> {
    const { store, signal } = this.#options;
    let found = 0;
    while (walk.ranges.length > 0 && walk.pages < maxPages && !signal.aborted) {
      const { start, end } = walk.ranges[0]!;
      const page = await readHints(store, { start: walk.position ?? start, end }, pageHints, signal);
      walk.pages++;
      this.#places.learn(page.hints);
      const taking = await this.#takeOn(page.hints, walk.jumps < maxJumps);
      found += taking.found;
      if (taking.full !== undefined) {
        const { row, column } = taking.full.address;
        walk.position = { row, column };
        // The walk continues when the queue has room again, which may take long. The pages that it
        // has read by then are outdated, so they no longer count.
        walk.pages = 0;
        return found;
      }
      if (taking.hasMet && walk.jumps < maxJumps) {
        walk.jumps++;
        walk.ranges = await this.#fromAnywhere();
        walk.position = undefined;
        continue;
      }
      walk.position = page.next;
      if (page.next !== undefined) await eventLoopTurn(this.#options.environment);
      else walk.ranges.shift();
    }
    this.#walk = undefined;
    return found;
  }

  /**
   * Claims hints and takes them on, a few at a time. If `jumps` is true, it stops when it meets
   * another process's claim.
   */
  async #takeOn(hints: readonly StandingHint[], jumps: boolean): Promise<Taking> {
    const { board, observer } = this.#options;
    let found = 0;
    let hasMet = false;
    for (let index = 0; index < hints.length; ) {
      const room = board.room(observer.name);
      if (room === 0) {
        board.markOverflow(observer);
        return { found, full: hints[index], hasMet };
      }
      const some = hints.slice(index, index + Math.min(room, claimsAtOnce));
      const taken = await Promise.all(some.map((hint) => this.#take(hint)));
      found += taken.filter((each) => each === "taken").length;
      const full = taken.indexOf("full");
      if (full >= 0) return { found, full: some[full], hasMet };
      hasMet ||= taken.includes("others");
      if (hasMet && jumps) return { found, full: undefined, hasMet };
      index += some.length;
    }
    return { found, full: undefined, hasMet };
  }

  async #take(hint: StandingHint): Promise<"taken" | "skipped" | "others" | "full"> {
    const { board, claims, observer } = this.#options;
    if (this.#waits(hint)) return "skipped";
    const cell = { table: observer.target.table.name, row: hint.row, column: hint.column };
    const isHere = board.taskOf(observer.name, cell) !== undefined;
    if (!isHere) {
      if (this.#wasRefused(hint)) return "others";
      const answer = claims.take(hint.address);
      if (!(answer instanceof Promise ? await answer : answer)) {
        this.#remember(hint);
        return "others";
      }
    }
    const { address, timestamp, state } = hint;
    const { owner: takenBy } = this.#options;
    const offer = { observer, cell, hint: address, timestamp, state, takenBy, isClaimed: !isHere };
    const outcome = board.offer(offer);
    if (!isHere && outcome !== "taken") claims.give(address);
    return outcome === "held" || outcome === "waits" ? "skipped" : outcome;
  }

  /** Whether the hint is not due yet, or says that another live process runs it. */
  #waits({ state }: StandingHint): boolean {
    const { sessions, environment, observer } = this.#options;
    const { runner, notBefore } = state;
    if (runner !== undefined && runner !== sessions.session) {
      // Ignores a runner that has ended or runs another version: it may not have removed its
      // announcement.
      if (sessions.isHosting(runner, observer.name, observer.version)) return true;
    }
    const waitMs = notBefore - environment.now();
    // Another process's clock may have written a wait that is longer than possible.
    return waitMs > 0 && waitMs <= observer.backoff.maximumMs;
  }

  #wasRefused({ address }: StandingHint): boolean {
    const until = this.#refused.get(byteString(address.row));
    return until !== undefined && until > this.#options.environment.monotonic();
  }

  #remember({ address }: StandingHint): void {
    if (this.#refused.size >= maxRefused) return;
    const until = this.#options.environment.monotonic() + refusedMs;
    this.#refused.set(byteString(address.row), until);
  }

  #forgetRefused(): void {
    const now = this.#options.environment.monotonic();
    for (const [name, until] of this.#refused) if (until <= now) this.#refused.delete(name);
  }
}
