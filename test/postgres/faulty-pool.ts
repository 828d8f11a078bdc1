import type { PostgresClient, PostgresPool, PostgresQuery } from "percolatordb/postgres";
import { Pool } from "pg";

/** Sees each query before the server, and decides when and whether it is sent, and what is answered. */
export type Interference = (query: PostgresQuery, send: () => Promise<unknown>) => Promise<unknown>;

const pass: Interference = (_, send) => send();

/** A pool whose queries a test can delay, drop, or deprive of their answers. */
export class FaultyPool implements PostgresPool {
  /** Applies to queries that are sent from now on. */
  interfere: Interference = pass;
  readonly #pool: Pool;

  constructor(host: string, user = "postgres") {
    this.#pool = new Pool({ host, user, database: "postgres", max: 8 });
    this.#pool.on("error", () => undefined);
  }

  /** Sends a query on any connection, without interference. */
  send(query: PostgresQuery): Promise<unknown> {
    return this.#pool.query(query as never);
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect();
    const send = (query: PostgresQuery) => client.query(query as never);
    return {
      query: (query) => this.interfere(query, () => send(query)),
      release: (error) => client.release(error),
      on: (event, listener) => client.on(event, listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
    };
  }

  on(event: "error" | "connect", listener: (value: never) => void): unknown {
    return this.#pool.on(event as "error", listener as never);
  }

  removeListener(event: "error" | "connect", listener: (value: never) => void): unknown {
    return this.#pool.removeListener(event as "error", listener as never);
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}

/** Whether a query calls this function of the schema. */
export function calls(query: PostgresQuery, name: string): boolean {
  return query.text.includes(`.${name}(`);
}

/** The error of a connection that ends without an answer. */
export function connectionLost(): Error {
  return new Error("Connection terminated unexpectedly");
}
