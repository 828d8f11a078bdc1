import { StoreError } from "../../../errors/index.js";
import { type Connections, type Statement, statement } from "../wire/connections.js";
import { type CommittedGroup, OutcomeUnknown } from "./writer.js";

interface Waiting {
  readonly group: Pick<CommittedGroup, "writer" | "number">;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Makes committed groups durable. The writing call does not wait for the disk, so the next group is
 * checked and written meanwhile. Groups that wait at the same time share a flush.
 *
 * The flush also says which groups the server has. If the server crashed after it answered a group
 * and before the flush, the group is gone, and a flush on the restarted server must not count.
 */
export class Flushes {
  readonly #connections: Connections;
  readonly #flush: Statement;
  #waiting: Waiting[] = [];
  #isRunning = false;
  #flushes = 0;
  #flushMs = 0;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#flush = statement(`select ${schema}.flush($1)`);
  }

  /** Flushes that succeeded since the store was opened, and their time in milliseconds. */
  get counts(): { readonly flushes: number; readonly flushMs: number } {
    return { flushes: this.#flushes, flushMs: Math.round(this.#flushMs) };
  }

  /**
   * Resolves when the group is durable. Rejects with an {@link OutcomeUnknown} if the server cannot
   * be asked, and with another error if the group is lost.
   */
  through(group: Pick<CommittedGroup, "writer" | "number">): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ group, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const { writer } = this.#waiting[0]!.group;
      const flushing = this.#waiting.filter(({ group }) => group.writer === writer);
      this.#waiting = this.#waiting.filter(({ group }) => group.writer !== writer);
      await this.#flushOnce(writer, flushing);
    }
    this.#isRunning = false;
  }

  async #flushOnce(writer: string, flushing: readonly Waiting[]): Promise<void> {
    const { environment } = this.#connections;
    const startedAt = environment.monotonic();
    let known: string | null | undefined;
    try {
      const rows = await this.#connections.insist(this.#flush, [writer], "flush");
      known = rows[0]?.[0];
      this.#flushes++;
      this.#flushMs += environment.monotonic() - startedAt;
    } catch (error) {
      const unknown = new OutcomeUnknown("PostgreSQL did not say whether the commit is on its disk.", {
        cause: error,
      });
      for (const each of flushing) each.reject(unknown);
      return;
    }
    for (const each of flushing) {
      if (known === null || known === undefined) {
        each.reject(new OutcomeUnknown("PostgreSQL has no record of this process any more."));
      } else if (Number(known) < each.group.number) each.reject(lost(this.#connections.place));
      else each.resolve();
    }
  }
}

function lost(place: string): StoreError {
  return new StoreError(
    `PostgreSQL crashed before the commit was on its disk, and does not have it (${place}). Nothing was written. Run it again.`,
    { retryable: true },
  );
}
