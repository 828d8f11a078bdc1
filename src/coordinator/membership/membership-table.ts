import { InvalidArgumentError, LimitExceededError } from "../../errors/index.js";
import { byteString } from "../../store/index.js";
import { coordinatorLimits as limits } from "../limits.js";
import type { ActivityReply, Join } from "../wire/messages.js";

/**
 * The sessions that are alive, their claims, and which of them are busy, within one epoch and in
 * memory only. A new leader starts with an empty table, and its clients report to it again.
 */
export class MembershipTable {
  readonly epoch: string;
  readonly #members = new Map<string, Member>();
  /** Sessions that have ended, oldest first. */
  readonly #ended = new Set<string>();
  readonly #claims = new Map<string, Member>();
  #claimBytes = 0;
  #busyPeriods = 0;

  constructor(epoch: string) {
    this.epoch = epoch;
  }

  /** Number of sessions. */
  get sessions(): number {
    return this.#members.size;
  }

  /** Number of claims. */
  get claims(): number {
    return this.#claims.size;
  }

  /**
   * Adds a session. If the table has a member of the same name, its client has reconnected before
   * the coordinator noticed the end of the old connection. The new member replaces the old one.
   * Calls `onReplaced` when a later member replaces the new one.
   */
  join({ session, busy, claims }: Join, onReplaced: () => void): Member {
    const before = this.#members.get(session);
    if (before === undefined && this.#members.size >= limits.sessions) {
      throw new LimitExceededError(
        `The coordinator already has ${limits.sessions} sessions, the limit. Run fewer processes.`,
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

  /** Whether a session is alive. Undefined if the session is not known. */
  alive(session: string): boolean | undefined {
    if (this.#members.has(session)) return true;
    return this.#ended.has(session) ? false : undefined;
  }

  activity(): ActivityReply {
    const busy = [...this.#members.values()]
      .filter((member) => member.isBusy)
      .map((member) => member.session);
    return { epoch: this.epoch, busyPeriods: this.#busyPeriods, sessions: [...this.#members.keys()], busy };
  }

  /** For members: takes a claim unless another member holds it. */
  take(key: string, member: Member): boolean {
    const holder = this.#claims.get(key);
    if (holder !== undefined) return holder === member;
    // A claim is only advice. If the table is full, every session may do the work.
    if (!this.#hasRoom(key, member)) return true;
    this.#claims.set(key, member);
    this.#claimBytes += key.length;
    return true;
  }

  /** For members: releases a claim. */
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

  /** For members: removes an ended session. */
  remove(member: Member): void {
    if (this.#members.get(member.session) !== member) return;
    this.#members.delete(member.session);
    this.#ended.add(member.session);
    if (this.#ended.size <= limits.endedSessions) return;
    const [oldest] = this.#ended;
    this.#ended.delete(oldest!);
  }
}

/** One session in the table. */
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

  /** Number of claims that the session holds. */
  get held(): number {
    return this.#claims.size;
  }

  /**
   * Takes a claim. True if this session now holds the claim, or if the table had no room to record
   * it.
   */
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

  /** Ends the session and releases its claims. Calling it again has no effect. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const name of this.#claims) this.#table.give(name, this);
    this.#claims.clear();
    this.#isBusy = false;
    this.#table.remove(this);
  }

  /** Ends this session because its client has joined again. */
  replace(): void {
    this.end();
    this.#onReplaced();
  }

  #checkOpen(): void {
    if (this.#isOver) throw new InvalidArgumentError(`The session ${this.session} has ended. Join again.`);
  }
}
