import { type Connections, type Statement, statement } from "../wire/connections.js";

/** The most queries under way. Callers that come meanwhile share the next one. */
const maxInFlight = 2;

interface Waiting {
  resolve(counter: number): void;
  reject(error: unknown): void;
}

/**
 * Reads the store's counter, as far as all commits are on the disk: a transaction must not begin at
 * a commit that a crash of the server may undo. The callers of one turn of the event loop share a query. None joins a
 * query that was already sent: it may show an older value than another process was told.
 */
export class CounterReader {
  readonly #connections: Connections;
  readonly #query: Statement;
  #waiting: Waiting[] = [];
  #inFlight = 0;
  #isScheduled = false;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#query = statement(`select counter from ${schema}.durable`);
  }

  read(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      this.#connections.environment.defer(() => {
        this.#isScheduled = false;
        this.#send();
      });
    });
  }

  #send(): void {
    if (this.#waiting.length === 0 || this.#inFlight >= maxInFlight) return;
    const callers = this.#waiting;
    this.#waiting = [];
    this.#inFlight++;
    this.#connections
      .repeat(this.#query, [], "read the counter")
      .then(
        (rows) => {
          const counter = Number(rows[0]?.[0] ?? 0);
          for (const each of callers) each.resolve(counter);
        },
        (error: unknown) => {
          for (const each of callers) each.reject(error);
        },
      )
      .finally(() => {
        this.#inFlight--;
        this.#send();
      });
  }
}
