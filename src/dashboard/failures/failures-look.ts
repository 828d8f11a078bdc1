import type { Database } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import type { ParkedChange } from "../../observer/index.js";
import { deadline } from "../../transaction/index.js";
import type { Failures } from "../api/index.js";
import { Shared } from "../sources/shared.js";
import { parkedShown } from "../text/parked.js";
import type { KnownTables } from "../text/tables.js";
import { FailureGroups, isMeant } from "./groups.js";

/** The most parked changes that are grouped, and the longest time for reading them. */
const maxGrouped = 20_000;
const groupingMs = 3_000;
const everyMs = 2_000;
/** The most different questions whose answers are kept. */
const maxAnswers = 16;

/**
 * Groups the parked changes on demand. All viewers share the groups, because grouping reads every
 * parked change.
 */
export class FailuresLook {
  readonly #db: Database;
  readonly #environment: Environment;
  readonly #tables: Shared<KnownTables>;
  readonly #closing = new AbortController();
  readonly #answers = new Map<string, Shared<Failures>>();

  constructor(db: Database, environment: Environment, tables: Shared<KnownTables>) {
    this.#db = db;
    this.#environment = environment;
    this.#tables = tables;
  }

  close(): void {
    this.#closing.abort();
  }

  /** The groups of one observer or of all, with a text in their errors or with any. */
  get(observer: string | undefined, text: string | undefined): Promise<Failures> {
    const question = JSON.stringify([observer, text]);
    let answer = this.#answers.get(question);
    if (answer === undefined) {
      answer = new Shared(this.#environment, everyMs, () => this.#group(observer, text));
      this.#answers.set(question, answer);
      if (this.#answers.size > maxAnswers) this.#answers.delete(this.#answers.keys().next().value!);
    }
    return answer.get();
  }

  async #group(observer: string | undefined, text: string | undefined): Promise<Failures> {
    const tables = await this.#tables.get();
    const groups = new FailureGroups<ParkedChange>();
    const closing = this.#closing.signal;
    const { signal, end } = deadline(this.#environment, closing, groupingMs, "Grouping parked changes");
    let count = 0;
    let isBound = false;
    try {
      for await (const change of this.#db.parked({ observer, signal })) {
        if (!isMeant(change, { text })) continue;
        isBound = count === maxGrouped;
        if (isBound) break;
        count++;
        groups.add(change);
      }
    } catch (error) {
      if (!signal?.aborted || closing.aborted) throw error;
      isBound = true;
    } finally {
      end();
    }
    const shown = groups.list().map((group) => ({
      ...group,
      firstAt: group.firstAt.getTime(),
      lastAt: group.lastAt.getTime(),
      newest: group.newest.map((change) => parkedShown(tables, change)),
    }));
    return { groups: shown, total: { count, isBound }, others: groups.others };
  }
}
