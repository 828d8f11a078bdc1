import type { CellName, Count } from "./shared.js";

/**
 * `GET api/failures?observer=&text=`: the parked changes in groups, the group with the newest one
 * first. `text` is a part of the error, in any case.
 */
export interface Failures {
  readonly groups: readonly FailureGroupShown[];
  /** How many changes were grouped. If it stopped at a bound, so did the counts of the groups. */
  readonly total: Count;
  /** Changes in none of the groups, because there are too many groups. */
  readonly others: number;
}

/**
 * `GET api/retrying?observer=&text=`: the changes whose last run failed, and that run again without
 * anybody's doing, in groups as those of `api/failures`.
 */
export interface Retrying {
  readonly groups: readonly RetryingGroupShown[];
  /** How many changes were grouped. If it stopped at a bound, so did the counts of the groups. */
  readonly total: Count;
  readonly others: number;
}

/** Changes of one observer that fail with one kind of error and are not parked yet. */
export interface RetryingGroupShown {
  /** The id of the group of parked changes with the same kind of error. */
  readonly id: string;
  readonly observer: string;
  /** As that of a group of parked changes. */
  readonly message: string;
  readonly count: number;
  /** When the oldest and the newest of the changes were committed. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** The newest changes, newest first, up to a bound. */
  readonly newest: readonly RetryingShown[];
}

/** A change that fails and is not parked yet. */
export interface RetryingShown extends CellName {
  readonly observer: string;
  /** How many of its runs failed. */
  readonly attempts: number;
  /** When the change was committed. */
  readonly changedAt: number;
  /** When it runs again. Undefined if it is due: it runs as soon as a worker has time. */
  readonly nextAt: number | undefined;
  /** The last failure in one line. */
  readonly error: string;
}

/** Parked changes of one observer whose errors differ only in ids, numbers and quoted strings. */
export interface FailureGroupShown {
  /** The `group` of other requests. */
  readonly id: string;
  readonly observer: string;
  /** The error, with `"…"` for quoted strings, and `#` for ids and numbers. */
  readonly message: string;
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** The newest changes, newest first, up to a bound. */
  readonly newest: readonly ParkedShown[];
}

/** `GET api/parked?observer=&group=&text=&after=&limit=`, ordered by observer and row. */
export interface ParkedPage {
  readonly parked: readonly ParkedShown[];
  readonly next: string | undefined;
}

export interface ParkedShown extends CellName {
  /**
   * Send it as `{ "id": ... }` to `POST api/parked/retry` or `POST api/parked/discard`. To choose
   * all parked changes of an observer or of a group, send `{ "observer": ... }` or
   * `{ "group": ... }` instead, with a `text` if only some of them are meant.
   */
  readonly id: string;
  readonly observer: string;
  readonly attempts: number;
  readonly parkedAt: number;
  readonly error: string;
  readonly stack: string | undefined;
}

/** `GET api/parked/export?group=` or `?observer=`, with `&text=`: a file. */
export interface ParkedExport {
  readonly exportedAt: number;
  readonly observer: string | undefined;
  /** The normalised error of the group. Undefined without a group. */
  readonly message: string | undefined;
  readonly parked: readonly ParkedShown[];
  /** Whether there are more than a file holds. */
  readonly isMore: boolean;
}
