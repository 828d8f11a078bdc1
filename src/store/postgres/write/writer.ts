import { StoreError } from "../../../errors/index.js";
import type { Row } from "../wire/client.js";
import { type Connections, type Statement, statement } from "../wire/connections.js";
import { QueryFailure, storeError, tellingFailure } from "../wire/failure.js";
import type { Group, GroupResult } from "./group.js";

/** A group that the server has committed: its number, and the writer that the number belongs to. */
export interface CommittedGroup {
  readonly writer: string;
  readonly number: number;
  readonly result: GroupResult;
}

/**
 * When a group is on the disk: after a later flush, before others can see it, or some time after its
 * answer.
 */
export type CommitMode = "later" | "now" | "early";

/** It is not known whether the server committed a group. */
export class OutcomeUnknown extends Error {}

interface Statements {
  readonly add: Statement;
  readonly commit: Statement;
  readonly settle: Statement;
  readonly remove: Statement;
}

/**
 * Commits groups, one after the other. The server keeps the number and the outcome of this writer's
 * last group in the same transaction as the group. If an answer is lost, the server is asked for
 * it. A group that was not committed is then fenced: should its call still be under way, it
 * is refused. Only then is the group sent again, with the next number.
 */
export class Writer {
  readonly #connections: Connections;
  readonly #statements: Statements;
  /** The name under which the server keeps the outcome. Undefined until the first group. */
  #id: string | undefined;
  #number = 0;
  /** The number of the last group that the server has, or has refused for good. */
  #last = 0;
  #outcomesAsked = 0;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    const parameters = Array.from({ length: 51 }, (_, index) => `$${index + 1}`).join(", ");
    this.#statements = {
      add: statement(`select ${schema}.add_writer($1)`),
      commit: statement(`select * from ${schema}.commit_group(${parameters})`),
      settle: statement(`select * from ${schema}.settle_group($1, $2, $3)`),
      remove: statement(`delete from ${schema}.writers where id = $1`),
    };
  }

  /** Groups without an answer, about which the server was asked, since the store was opened. */
  get outcomesAsked(): number {
    return this.#outcomesAsked;
  }

  /**
   * Commits a group. Rejects with an {@link OutcomeUnknown} if the server cannot be asked, and with
   * another error if nothing was committed.
   */
  async commit(group: Group, mode: CommitMode): Promise<CommittedGroup> {
    // That of the newest request: the others have waited longer.
    const { until } = group.requests.at(-1)!;
    const parameters = [mode, ...group.parameters()];
    let reason: unknown;
    for (let attempt = 1; ; attempt++) {
      let failure: unknown;
      try {
        const writer = await this.#register(until);
        const number = ++this.#number;
        const result = await this.#commitOnce(writer, number, parameters, until);
        if (result !== undefined) return { writer, number, result };
      } catch (error) {
        failure = error;
      }
      if (failure instanceof OutcomeUnknown) throw failure;
      if (failure === undefined) continue;
      reason = tellingFailure(reason, failure);
      if (!(await this.#connections.again(failure, attempt, until))) {
        throw storeError(reason, "commit", this.#connections.place);
      }
    }
  }

  /** The result. Undefined if the server did not commit the group, and it can be sent again at once. */
  async #commitOnce(
    writer: string,
    number: number,
    parameters: readonly unknown[],
    until: number,
  ): Promise<GroupResult | undefined> {
    try {
      const rows = await this.#connections.once(
        this.#statements.commit,
        [writer, number, this.#last, ...parameters],
        until,
      );
      return this.#resultOf(rows, number);
    } catch (error) {
      if (!(error instanceof QueryFailure && error.mayHaveRun)) throw error;
      const settled = await this.#settle(writer, number, error);
      if (settled !== undefined) return settled;
      throw new QueryFailure(error.cause, false);
    }
  }

  /** What became of a group without an answer. Undefined if it was not committed, and never will be. */
  async #settle(writer: string, number: number, cause: QueryFailure): Promise<GroupResult | undefined> {
    this.#outcomesAsked++;
    let rows: readonly Row[];
    try {
      rows = await this.#connections.insist(
        this.#statements.settle,
        [writer, number, this.#last],
        "find out about a commit",
      );
    } catch (error) {
      // The next groups must not depend on what became of this one.
      this.#id = undefined;
      throw new OutcomeUnknown(
        `PostgreSQL did not answer a commit (${cause.message}), and could not be asked about it afterwards.`,
        { cause: error },
      );
    }
    if (rows[0]?.[0] === "unregistered") {
      this.#id = undefined;
      throw new OutcomeUnknown(
        "PostgreSQL did not answer a commit, and has no record of this process any more.",
        {
          cause,
        },
      );
    }
    return this.#resultOf(rows, number);
  }

  #resultOf(rows: readonly Row[], number: number): GroupResult | undefined {
    const [outcome, first, requests, ats] = rows[0]!;
    // What a crash has undone stays undone under the old name, so a flush can tell.
    if (outcome === "unregistered" || outcome === "lost") this.#id = undefined;
    else this.#last = number;
    if (outcome !== "done") return undefined;
    if (first === null) throw new StoreError("PostgreSQL has no outcome of a group that it committed.");
    const at = numbers(ats);
    return {
      firstTimestamp: Number(first),
      failed: numbers(requests).map((request, index) => ({ request, at: at[index]! })),
    };
  }

  async #register(until: number): Promise<string> {
    if (this.#id !== undefined) return this.#id;
    const id = this.#connections.environment.uniqueId();
    await this.#connections.once(this.#statements.add, [id], until);
    this.#number = 0;
    this.#last = 0;
    this.#id = id;
    return id;
  }

  /** Removes what the server keeps about this writer. */
  async close(): Promise<void> {
    if (this.#id === undefined) return;
    const id = this.#id;
    this.#id = undefined;
    await this.#connections
      .once(this.#statements.remove, [id], this.#connections.deadline())
      .catch(() => undefined);
  }
}

/** An `int4[]` of an answer. */
function numbers(text: string | null | undefined): number[] {
  if (text === null || text === undefined || text === "{}") return [];
  return text.slice(1, -1).split(",").map(Number);
}
