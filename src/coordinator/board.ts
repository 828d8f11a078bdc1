import { InvalidArgumentError, LimitExceededError } from "../errors/index.js";
import { byteString } from "../store/index.js";
import { coordinatorLimits as limits } from "./limits.js";
import type { ActivityReply, Join } from "./messages.js";

/**
 * Who lives, who works on what, and whether anybody does: one epoch of it, in memory only. A new leader begins with an empty
 * one, and its clients tell it anew.
 */
export class Board {
  readonly epoch: string;
  readonly #seats = new Map<string, Seat>();
  /** Sessions that have ended; the oldest first. */
  readonly #ended = new Set<string>();
  readonly #claims = new Map<string, Seat>();
  #claimBytes = 0;
  #turns = 0;

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  /** How many sessions there are. */
  get sessions(): number {
    return this.#seats.size;
  }

  /** How many claims there are. */
  get claims(): number {
    return this.#claims.size;
  }

  /**
   * Seats a session. One of the same name gives way to it: a client that comes again, before it was noticed that it had gone.
   * `onReplaced`: called where that happens to this one.
   */
  join({ session, busy, claims }: Join, onReplaced: () => void): Seat {
    const before = this.#seats.get(session);
    if (before === undefined && this.#seats.size >= limits.sessions) {
      throw new LimitExceededError(
        `The coordinator has ${limits.sessions} sessions, and takes no more. Run fewer processes.`,
      );
    }
    before?.replace();
    const seat = new Seat(this, session, onReplaced);
    this.#ended.delete(session);
    this.#seats.set(session, seat);
    for (const key of claims) seat.claim(key);
    if (busy) seat.busy();
    return seat;
  }

  /** Whether a session lives; undefined for one that is not known. */
  alive(session: string): boolean | undefined {
    if (this.#seats.has(session)) return true;
    return this.#ended.has(session) ? false : undefined;
  }

  activity(): ActivityReply {
    const busy = [...this.#seats.values()].filter((seat) => seat.isBusy).map((seat) => seat.session);
    return { epoch: this.epoch, turns: this.#turns, sessions: [...this.#seats.keys()], busy };
  }

  /** For its seats: takes a claim where nobody else has it. */
  take(key: string, seat: Seat): boolean {
    const holder = this.#claims.get(key);
    if (holder !== undefined) return holder === seat;
    // Beyond the limits everybody works: a claim is advice.
    if (!this.#hasRoom(key, seat)) return true;
    this.#claims.set(key, seat);
    this.#claimBytes += key.length;
    return true;
  }

  /** For its seats: gives a claim back. */
  give(key: string, seat: Seat): void {
    if (this.#claims.get(key) !== seat) return;
    this.#claims.delete(key);
    this.#claimBytes -= key.length;
  }

  #hasRoom(key: string, seat: Seat): boolean {
    return (
      this.#claims.size < limits.claims &&
      this.#claimBytes + key.length <= limits.allClaimBytes &&
      seat.held < limits.claimsOfSession
    );
  }

  holds(key: string, seat: Seat): boolean {
    return this.#claims.get(key) === seat;
  }

  beginTurn(): void {
    this.#turns++;
  }

  /** For its seats: a session is over. */
  remove(seat: Seat): void {
    if (this.#seats.get(seat.session) !== seat) return;
    this.#seats.delete(seat.session);
    this.#ended.add(seat.session);
    if (this.#ended.size <= limits.endedSessions) return;
    const [oldest] = this.#ended;
    this.#ended.delete(oldest!);
  }
}

/** A session's place on the board. */
export class Seat {
  readonly session: string;
  readonly #board: Board;
  readonly #onReplaced: () => void;
  readonly #claims = new Set<string>();
  #isBusy = false;
  #isOver = false;

  constructor(board: Board, session: string, onReplaced: () => void) {
    this.#board = board;
    this.session = session;
    this.#onReplaced = onReplaced;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** How many claims it holds. */
  get held(): number {
    return this.#claims.size;
  }

  /** Whether the claim is this session's; also where there is no room to keep it. */
  claim(key: Uint8Array): boolean {
    this.#checkSeated();
    const name = byteString(key);
    const isGranted = this.#board.take(name, this);
    if (isGranted && this.#board.holds(name, this)) this.#claims.add(name);
    return isGranted;
  }

  release(key: Uint8Array): void {
    const name = byteString(key);
    this.#claims.delete(name);
    this.#board.give(name, this);
  }

  busy(): void {
    this.#checkSeated();
    if (!this.#isBusy) this.#board.beginTurn();
    this.#isBusy = true;
  }

  quiet(): void {
    this.#isBusy = false;
  }

  /** The session is over; its claims are given back. Harmless to repeat. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const name of this.#claims) this.#board.give(name, this);
    this.#claims.clear();
    this.#isBusy = false;
    this.#board.remove(this);
  }

  /** Another of the same name comes in its place. */
  replace(): void {
    this.end();
    this.#onReplaced();
  }

  #checkSeated(): void {
    if (this.#isOver) throw new InvalidArgumentError(`The session ${this.session} is over.`);
  }
}
