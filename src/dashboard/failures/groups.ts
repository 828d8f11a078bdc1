import { makeId, readId } from "../text/ids.js";
import { normalise } from "./normalise.js";

/** A failure, with what its group depends on. A parked change is one. */
export interface Failure {
  readonly observer: string;
  readonly error: { readonly name: string; readonly message: string };
}

/** Failures of one observer whose messages are of one kind. */
export interface FailureGroup<F extends Failure> {
  readonly id: string;
  readonly observer: string;
  /** The name of the error and its normalised message. */
  readonly message: string;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The newest failures, newest first, up to a bound. */
  readonly newest: readonly F[];
}

/** The most groups to keep, and the most failures to keep of each. */
export const maxGroups = 200;
export const maxNewest = 20;

/** The name of an error and its message, if it has one, in one text. */
export function errorText({ error: { name, message } }: Pick<Failure, "error">): string {
  return message === "" ? name : `${name}: ${message}`;
}

const kindOf = (failure: Failure) => normalise(errorText(failure));

/** The id of the group that a failure belongs to. */
export function groupOf(failure: Failure): string {
  return idOf(failure.observer, kindOf(failure));
}

const idOf = (observer: string, kind: string) => makeId([observer, kind]);

/**
 * The observer of a group.
 *
 * @throws InvalidArgumentError if the id is not that of a group.
 */
export function observerOfGroup(id: string): string {
  return String(readId(id, 2)[0]);
}

/** Which failures are meant. Without any of these, all are. */
export interface FailureFilter {
  /** The id of their group. */
  readonly group?: string | undefined;
  /** A part of their error or of its normalised form. Upper and lower case do not matter. */
  readonly text?: string | undefined;
}

/** Whether a failure is meant by a filter. */
export function isMeant(failure: Failure, { group, text }: FailureFilter): boolean {
  if (group !== undefined && groupOf(failure) !== group) return false;
  if (text === undefined) return true;
  const wanted = text.toLowerCase();
  return errorText(failure).toLowerCase().includes(wanted) || kindOf(failure).toLowerCase().includes(wanted);
}

interface Growing<F extends Failure> extends FailureGroup<F> {
  count: number;
  firstAt: Date;
  lastAt: Date;
  readonly newest: F[];
}

/** Groups failures by observer and normalised message, in bounded memory. */
export class FailureGroups<F extends Failure> {
  readonly #timeOf: (failure: F) => Date;
  readonly #groups = new Map<string, Growing<F>>();
  #others = 0;

  /** `timeOf`: the time of a failure, for the first and the last of a group. */
  constructor(timeOf: (failure: F) => Date) {
    this.#timeOf = timeOf;
  }

  add(failure: F): void {
    const { observer } = failure;
    const time = this.#timeOf(failure);
    const message = kindOf(failure);
    const id = idOf(observer, message);
    let group = this.#groups.get(id);
    if (group === undefined) {
      if (this.#groups.size === maxGroups) return void this.#others++;
      group = { id, observer, message, count: 0, firstAt: time, lastAt: time, newest: [] };
      this.#groups.set(id, group);
    }
    group.count++;
    if (time < group.firstAt) group.firstAt = time;
    if (time > group.lastAt) group.lastAt = time;
    const at = group.newest.findIndex((each) => this.#timeOf(each) < time);
    if (at >= 0) group.newest.splice(at, 0, failure);
    else if (group.newest.length < maxNewest) group.newest.push(failure);
    if (group.newest.length > maxNewest) group.newest.pop();
  }

  /** The groups, the one with the newest failure first. */
  list(): readonly FailureGroup<F>[] {
    return [...this.#groups.values()].sort((a, b) => b.lastAt.getTime() - a.lastAt.getTime());
  }

  /** How many failures are in none of the groups, because there were already `maxGroups`. */
  get others(): number {
    return this.#others;
  }
}
