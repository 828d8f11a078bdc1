import { StoreError } from "../../../errors/index.js";
import type { BatchAnswer } from "../../mutation.js";
import type { TableIds } from "../table/table-ids.js";
import type { Connections } from "../wire/connections.js";
import { NoAnswer, QueryFailure, storeError } from "../wire/failure.js";
import type { Flushes } from "./flushes.js";
import { Group } from "./group.js";
import type { Request } from "./request.js";
import { type CommitMode, type CommittedGroup, OutcomeUnknown, type Writer } from "./writer.js";

/** A group of fewer changes is not divided: the server works on so many for 10 ms, and a call costs 1 ms. */
const leastChanges = 1_000;
/** How long requests wait for their company at most, in milliseconds: about what a group costs. */
const maxGatherMs = 3;
/** A group of so many requests does not wait for more. */
const enoughRequests = 128;

/** What a {@link CommitQueue} works with. */
export interface QueueParts {
  readonly connections: Connections;
  readonly writer: Writer;
  readonly flushes: Flushes;
  readonly tables: TableIds;
  /** Whether a group is answered before the flush. */
  readonly early: boolean;
  /** Called when a group is committed and answered. */
  readonly onCommitted: () => void;
}

/**
 * Group commit. Requests that wait at the same time become one call of the server. While the server
 * commits one group, further requests gather. Requests for whose answer nobody waits alone gather for
 * some milliseconds more, while others are expected: each group costs a flush, which all programs of
 * the server wait for. A group is answered when it is on the server's disk, or, with `early`, when it
 * is committed.
 *
 * | state of a request | next | when |
 * | --- | --- | --- |
 * | waiting | taken | its group is sent |
 * | waiting | rejected | the groups before it took until its deadline |
 * | taken | committed | the server answered, or was asked what became of the group |
 * | committed | answered | a flush after the commit has ended |
 * | taken | rejected | the group was not committed, and cannot be any more |
 * | taken, committed | unknown | the server cannot be asked until the deadline |
 */
export class CommitQueue {
  readonly #connections: Connections;
  readonly #writer: Writer;
  readonly #flushes: Flushes;
  readonly #tables: TableIds;
  readonly #early: boolean;
  readonly #onCommitted: () => void;
  #waiting: Request[] = [];
  /** Flushes under way. */
  readonly #flights = new Set<Promise<void>>();
  #running: Promise<void> | undefined;
  /** Called when a request comes while others gather. */
  #onPush: (() => void) | undefined;
  /** Requests of groups that have no answer yet. */
  #unanswered = 0;
  #groups = 0;
  #requests = 0;
  #commitMs = 0;

  constructor(parts: QueueParts) {
    const { connections, writer, flushes, tables, early, onCommitted } = parts;
    this.#tables = tables;
    this.#connections = connections;
    this.#writer = writer;
    this.#flushes = flushes;
    this.#early = early;
    this.#onCommitted = onCommitted;
  }

  /**
   * Groups and requests that were committed since the store was opened, and the time until the server
   * had answered those groups, in milliseconds.
   */
  get counts(): { readonly groups: number; readonly requests: number; readonly commitMs: number } {
    return { groups: this.#groups, requests: this.#requests, commitMs: Math.round(this.#commitMs) };
  }

  /** Resolves when nothing waits, is being committed or flushed, whether somebody waits for it or not. */
  async idle(): Promise<void> {
    while (this.#running !== undefined || this.#flights.size > 0) {
      await Promise.all([this.#running, ...this.#flights]);
    }
  }

  push(request: Request): void {
    this.#waiting.push(request);
    this.#onPush?.();
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // The other requests of this turn join the group.
    await new Promise<void>((resolve) => this.#connections.environment.defer(resolve));
    while (this.#waiting.length > 0) {
      if (this.#mayGather()) await this.#gather();
      if (!this.#waiting.every((request) => this.#isKnown(request))) await this.#learn();
      this.#rejectLate();
      const group = this.#take();
      if (group !== undefined) await this.#commit(group);
    }
    this.#running = undefined;
  }

  /** Whether all requests that wait may wait for more, and more are expected. */
  #mayGather(): boolean {
    return (
      this.#waiting.length < enoughRequests &&
      this.#waiting.every(({ company }) => company !== undefined && company.expected > 0)
    );
  }

  /** Resolves when no more requests are expected, when one comes that does not wait, or after a while. */
  #gather(): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        this.#onPush = undefined;
        resolve();
      };
      const timer = this.#connections.environment.setTimer(end, maxGatherMs);
      this.#onPush = () => {
        if (!this.#mayGather()) end();
      };
    });
  }

  /** Whether this process knows the numbers of all tables that the request names. */
  #isKnown({ task: { rows, ranges } }: Request): boolean {
    for (const { table } of rows) if (this.#tables.known(table) === undefined) return false;
    for (const { table } of ranges) if (this.#tables.known(table) === undefined) return false;
    return true;
  }

  /** Learns the numbers of tables here, and not before, so that requests keep their order. */
  async #learn(): Promise<void> {
    const tables = this.#waiting
      .flatMap(({ task }) => [...task.rows, ...task.ranges])
      .map(({ table }) => table);
    const unknown = new Set(tables.filter((table) => this.#tables.known(table) === undefined));
    for (const table of unknown) {
      try {
        await this.#tables.need(table);
      } catch (error) {
        // A server that is away fails the other tables too, each after a deadline.
        const isAway = error instanceof StoreError && error.retryable;
        const unable = this.#waiting.filter(
          (request) => !this.#isKnown(request) && (isAway || names(request, table)),
        );
        this.#waiting = this.#waiting.filter((request) => !unable.includes(request));
        for (const request of unable) request.reject(error);
        if (isAway) return;
      }
    }
  }

  /** Rejects the requests that have waited for the groups before them until their deadline. */
  #rejectLate(): void {
    const { environment, place } = this.#connections;
    const now = environment.monotonic();
    for (const request of this.#waiting) {
      if (!request.isWaiting || now < request.until) continue;
      const late = new QueryFailure(new NoAnswer("earlier commits had no answer in time"), false);
      request.reject(storeError(late, "commit", place));
    }
  }

  /**
   * Makes the next group. One of many changes gets at most half of the requests without an answer. If
   * it had all of them, this process would only wait while the server works, and the server would
   * wait while this process makes new requests.
   */
  #take(): Group | undefined {
    const group = new Group(this.#tables);
    const half = (this.#waiting.length + this.#unanswered) / 2;
    let taken = 0;
    for (const request of this.#waiting) {
      if (group.requests.length >= half && group.changes >= leastChanges) break;
      if (request.isWaiting && !(this.#isKnown(request) && this.#add(group, request))) break;
      taken++;
    }
    this.#waiting.splice(0, taken);
    if (group.requests.length === 0) return undefined;
    for (const request of group.requests) request.take();
    this.#unanswered += group.requests.length;
    return group;
  }

  /** Adds a request to a group. One that cannot be sent, such as a too large one, fails by itself. */
  #add(group: Group, request: Request): boolean {
    try {
      return group.add(request);
    } catch (error) {
      request.reject(error);
      return true;
    }
  }

  /**
   * In two phases, a transaction may read what another one committed after it began, as soon as the
   * lock is gone. So a group with locks must be on the disk before it is visible.
   */
  #modeOf(group: Group): CommitMode {
    if (this.#early) return "early";
    return group.hasLocks ? "now" : "later";
  }

  async #commit(group: Group): Promise<void> {
    const { environment } = this.#connections;
    const startedAt = environment.monotonic();
    let committed: CommittedGroup;
    try {
      committed = await this.#writer.commit(group, this.#modeOf(group));
    } catch (error) {
      this.#fail(group, error);
      return;
    }
    this.#commitMs += environment.monotonic() - startedAt;
    this.#groups++;
    this.#requests += group.requests.length;
    const answers = group.answers(committed.result);
    const answer = () => {
      this.#unanswered -= group.requests.length;
      for (const [index, request] of group.requests.entries()) request.resolve(answers[index]!);
      this.#onCommitted();
    };
    if (this.#early) {
      answer();
      return;
    }
    // A refusal waits too: a transaction that is run again then begins after what it conflicted with.
    const flight = this.#flushes
      .through(committed)
      .then(answer, (error: unknown) => this.#fail(group, error))
      .finally(() => this.#flights.delete(flight));
    this.#flights.add(flight);
  }

  /** Tells the requests of a group that it failed, or that its outcome is unknown. */
  #fail({ requests }: Group, error: unknown): void {
    this.#unanswered -= requests.length;
    const unknown: BatchAnswer = { answer: "unknown", cause: error };
    for (const request of requests) {
      if (error instanceof OutcomeUnknown) request.resolve(unknown);
      else request.reject(error);
    }
  }
}

function names({ task: { rows, ranges } }: Request, table: string): boolean {
  return [...rows, ...ranges].some((each) => each.table === table);
}
