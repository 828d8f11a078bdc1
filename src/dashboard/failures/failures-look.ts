import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { ParkedChange } from "../../observer/index.js";
import type { Failures, Retrying } from "../api/index.js";
import { readOfEach } from "../read-within.js";
import type { Shared } from "../sources/shared.js";
import { SharedAnswers } from "../sources/shared-answers.js";
import { parkedShown } from "../text/parked.js";
import { retryingShown } from "../text/retrying.js";
import type { KnownTables } from "../text/tables.js";
import { FailureGroups, isMeant } from "./groups.js";
import { failingOf, type RetryingChange } from "./retrying.js";

/** The most changes of one observer that are looked at, and the longest time for reading all. */
const maxOfObserver = 10_000;
const groupingMs = 3_000;
const everyMs = 2_000;

/** Which failures are grouped: those of one observer or of all, with a text in their errors or with any. */
interface Question {
  readonly observer: string | undefined;
  readonly text: string | undefined;
}

/**
 * Groups the changes that failed on demand: parked ones, and those that are tried again. All viewers
 * share the groups, because grouping reads every change.
 */
export class FailuresLook {
  readonly #db: Database;
  readonly #environment: Environment;
  readonly #tables: Shared<KnownTables>;
  readonly #closing = new AbortController();
  readonly #parked: SharedAnswers<Question, Failures>;
  readonly #retrying: SharedAnswers<Question, Retrying>;

  constructor(db: Database, environment: Environment, tables: Shared<KnownTables>) {
    this.#db = db;
    this.#environment = environment;
    this.#tables = tables;
    this.#parked = new SharedAnswers(environment, everyMs, (question) => this.#groupParked(question));
    this.#retrying = new SharedAnswers(environment, everyMs, (question) => this.#groupRetrying(question));
  }

  close(): void {
    this.#closing.abort();
  }

  /** The groups of parked changes. */
  parked(question: Question): Promise<Failures> {
    return this.#parked.get(question);
  }

  /** The groups of changes that failed and are tried again. */
  retrying(question: Question): Promise<Retrying> {
    return this.#retrying.get(question);
  }

  /** Forgets the groups, because changes were retried or discarded. */
  forget(): void {
    this.#parked.forget();
    this.#retrying.forget();
  }

  async #groupParked({ observer, text }: Question): Promise<Failures> {
    const tables = await this.#tables.get();
    const groups = new FailureGroups<ParkedChange>(({ parkedAt }) => parkedAt);
    let count = 0;
    const isBound = await this.#read(
      observer,
      (name, signal) => this.#db.parked({ observer: name, signal }),
      (change) => {
        if (!isMeant(change, { text })) return;
        count++;
        groups.add(change);
      },
    );
    const shown = groups.list().map((group) => ({
      ...group,
      firstAt: group.firstAt.getTime(),
      lastAt: group.lastAt.getTime(),
      newest: group.newest.map((change) => parkedShown(tables, change)),
    }));
    return { groups: shown, total: { count, isBound }, others: groups.others };
  }

  async #groupRetrying({ observer, text }: Question): Promise<Retrying> {
    const tables = await this.#tables.get();
    const groups = new FailureGroups<RetryingChange>(({ since }) => since);
    let count = 0;
    const isBound = await this.#read(
      observer,
      (name, signal) => this.#db.pending({ observer: name, signal }),
      (change) => {
        const failing = failingOf(change);
        if (failing === undefined || !isMeant(failing, { text })) return;
        count++;
        groups.add(failing);
      },
    );
    const shown = groups.list().map((group) => ({
      ...group,
      firstAt: group.firstAt.getTime(),
      lastAt: group.lastAt.getTime(),
      newest: group.newest.map((change) => retryingShown(tables, change)),
    }));
    return { groups: shown, total: { count, isBound }, others: groups.others };
  }

  async #read<T>(
    observer: string | undefined,
    list: (observer: string, signal: AbortSignal | undefined) => AsyncIterable<T>,
    use: (change: T) => void,
  ): Promise<boolean> {
    const observers = observer === undefined ? [...(await this.#db.observers()).keys()] : [observer];
    const time = {
      environment: this.#environment,
      closing: this.#closing.signal,
      timeMs: groupingMs,
      doing: "Grouping changes that failed",
    };
    return await readOfEach(observers, maxOfObserver, time, list, use);
  }
}
