import { InvalidArgumentError, LimitExceededError } from "../../errors/index.js";
import { byteString } from "../../store/index.js";
import { coordinatorLimits as limits } from "../limits.js";
import type { ActivityReply, Join } from "../wire/messages.js";

/**
 * Who lives, who works on what, and whether anybody does: one epoch of it, in memory only. A new leader begins with an empty
 * one, and its clients tell it anew.
 */
export class MembershipTable {
  readonly epoch: string;
  readonly #members = new Map<string, Member>();
  /** Sessions that have ended; the oldest first. */
  readonly #ended = new Set<string>();
  readonly #claims = new Map<string, Member>();
  #claimBytes = 0;
  #busyPeriods = 0;

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  /** How many sessions there are. */
  get sessions(): number {
    return this.#members.size;
  }

  /** How many claims there are. */
  get claims(): number {
    return this.#claims.size;
  }

  /**
   * Seats a session. One of the same name gives way to it: a client that comes again, before it was noticed that it had gone.
   * `onReplaced`: called where that happens to this one.
   */
  join({ session, busy, claims }: Join, onReplaced: () => void): Member {
    const before = this.#members.get(session);
    if (before === undefined && this.#members.size >= limits.sessions) {
      throw new LimitExceededError(
        `The coordinator has ${limits.sessions} sessions, and takes no more. Run fewer processes.`,
      );
    }
    before?.replace();
    const member = new Member(this, session, onReplaced);
    this.#ended.delete(session);
    this.#members.set(session, member);
    for (const key of claims) member.claim(key);
    if (busy) member.busy();
    return member;
  }

  /** Whether a session lives; undefined for one that is not known. */
  alive(session: string): boolean | undefined {
    if (this.#members.has(session)) return true;
    return this.#ended.has(session) ? false : undefined;
  }

  activity(): ActivityReply {
    const busy = [...this.#members.values()]
      .filter((member) => member.isBusy)
      .map((member) => member.session);
    return { epoch: this.epoch, turns: this.#busyPeriods, sessions: [...this.#members.keys()], busy };
  }

  /** For its members: takes a claim where nobody else has it. */
  take(key: string, member: Member): boolean {
    const holder = this.#claims.get(key);
    if (holder !== undefined) return holder === member;
    // Beyond the limits everybody works: a claim is advice.
    if (!this.#hasRoom(key, member)) return true;
    this.#claims.set(key, member);
    this.#claimBytes += key.length;
    return true;
  }

  /** For its members: gives a claim back. */
  give(key: string, member: Member): void {
    if (this.#claims.get(key) !== member) return;
    this.#claims.delete(key);
    this.#claimBytes -= key.length;
  }

  #hasRoom(key: string, member: Member): boolean {
    return (
      this.#claims.size < limits.claims &&
      this.#claimBytes + key.length <= limits.allClaimBytes &&
      member.held < limits.claimsOfSession
    );
  }

  holds(key: string, member: Member): boolean {
    return this.#claims.get(key) === member;
  }

  beginBusyPeriod(): void {
    this.#busyPeriods++;
  }

  /** For its members: a session is over. */
  remove(member: Member): void {
    if (this.#members.get(member.session) !== member) return;
    this.#members.delete(member.session);
    this.#ended.add(member.session);
    if (this.#ended.size <= limits.endedSessions) return;
    const [oldest] = this.#ended;
    this.#ended.delete(oldest!);
  }
}

/** A session's place on the table. */
export class Member {
  readonly session: string;
  readonly #table: MembershipTable;
  readonly #onReplaced: () => void;
  readonly #claims = new Set<string>();
  #isBusy = false;
  #isOver = false;

  constructor(table: MembershipTable, session: string, onReplaced: () => void) {
    this.#table = table;
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
    this.#checkOpen();
    const name = byteString(key);
    const isGranted = this.#table.take(name, this);
    if (isGranted && this.#table.holds(name, this)) this.#claims.add(name);
    return isGranted;
  }

  release(key: Uint8Array): void {
    const name = byteString(key);
    this.#claims.delete(name);
    this.#table.give(name, this);
  }

  busy(): void {
    this.#checkOpen();
    if (!this.#isBusy) this.#table.beginBusyPeriod();
    this.#isBusy = true;
  }

  quiet(): void {
    this.#isBusy = false;
  }

  /** The session is over; its claims are given back. Harmless to repeat. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const name of this.#claims) this.#table.give(name, this);
    this.#claims.clear();
    this.#isBusy = false;
    this.#table.remove(this);
  }

  /** Another of the same name comes in its place. */
  replace(): void {
    this.end();
    this.#onReplaced();
  }

  #checkOpen(): void {
    if (this.#isOver) throw new InvalidArgumentError(`The session ${this.session} is over.`);
  }
}
