import { backoffDelay, type Environment, sha256 } from "../../../environment/index.js";
import type { PostgresClient, PostgresPool, Row } from "./client.js";
import {
  endsConnection,
  mayPass,
  maySucceedLater,
  NoAnswer,
  QueryFailure,
  storeError,
  tellingFailure,
} from "./failure.js";

/** A statement with parameters `$1`, `$2` and so on, which each connection prepares once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement whose name follows from its text, so that two stores may share a pool. */
export function statement(text: string): Statement {
  return { name: `percolatordb_${sha256(text).slice(0, 20)}`, text };
}

/**
 * A statement that the server plans at each run. For tables whose size changes by orders of magnitude:
 * the plan of a prepared statement stays what it was for an empty table until autovacuum comes, and
 * then reads the whole table.
 */
export function plannedEachTime(text: string): Statement {
  return { name: "", text };
}

export interface ConnectionsOptions {
  readonly pool: PostgresPool;
  /** Whether to end the pool with the store. */
  readonly isOwn: boolean;
  readonly environment: Environment;
  /** How long a request may take with all its attempts, in milliseconds. */
  readonly deadlineMs: number;
  /** Whether statements are prepared under a name. */
  readonly prepare: boolean;
  /** The place, for messages. */
  readonly place: string;
}

const backoff = { initialMs: 10, maximumMs: 500 };
const asText = { getTypeParser: () => (value: string) => value };
const ignore = () => undefined;

/** The listeners on a pool, for all stores that use it. Node takes more than ten of a kind for a leak. */
interface PoolListeners {
  /** Called for each connection that the pool makes, one for each store. */
  readonly onConnect: Set<() => void>;
  remove(): void;
}

const listeners = new WeakMap<PostgresPool, PoolListeners>();

/** Calls a function for each connection that the pool makes. Returns what ends that. */
function listen(pool: PostgresPool, onConnect: () => void): () => void {
  const shared = listeners.get(pool) ?? addListeners(pool);
  shared.onConnect.add(onConnect);
  return () => {
    if (shared.onConnect.delete(onConnect) && shared.onConnect.size === 0) shared.remove();
  };
}

function addListeners(pool: PostgresPool): PoolListeners {
  const onConnect = new Set<() => void>();
  const connected = (client: Pick<PostgresClient, "on">) => {
    client.on("error", ignore);
    for (const each of onConnect) each();
  };
  // Without a listener, the error of a connection that ends while no query runs on it would end the
  // process. It may end at any moment: while it is idle, and before its first query.
  pool.on("error", ignore);
  pool.on("connect", connected);
  const remove = () => {
    listeners.delete(pool);
    pool.removeListener("error", ignore);
    pool.removeListener("connect", connected);
  };
  const added = { onConnect, remove };
  listeners.set(pool, added);
  return added;
}

/** A connection that one user holds, until it or the user ends it. */
export interface Held {
  /** Runs a statement without parameters. With a name, prepares it under that name. */
  run(text: string, name?: string): Promise<readonly Row[]>;
  onNotification(listener: (payload: string) => void): void;
  /** Calls the listener when the server, the network or {@link Held.end} has ended the connection. */
  onEnd(listener: () => void): void;
  end(): void;
}

/** Figures of a store's connections. All but `connectionsWaiting` count since the store was opened. */
export interface ConnectionCounts {
  /** Statements sent. */
  readonly queries: number;
  /** Statements that failed. */
  readonly failures: number;
  /** Connections that the pool has made. After an outage, it makes new ones. */
  readonly connectionsMade: number;
  /** Statements that wait for a connection now. */
  readonly connectionsWaiting: number;
  /** Time that statements have waited for a connection, in milliseconds. */
  readonly connectionWaitMs: number;
}

/** Runs statements on the pool's connections, and repeats those that may be repeated. */
export class Connections {
  readonly environment: Environment;
  readonly place: string;
  readonly #options: ConnectionsOptions;
  #queries = 0;
  #failures = 0;
  #made = 0;
  #waiting = 0;
  #waitMs = 0;
  readonly #stopListening: () => void;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.environment = options.environment;
    this.place = options.place;
    this.#stopListening = listen(options.pool, () => this.#made++);
  }

  get counts(): ConnectionCounts {
    return {
      queries: this.#queries,
      failures: this.#failures,
      connectionsMade: this.#made,
      connectionsWaiting: this.#waiting,
      connectionWaitMs: Math.round(this.#waitMs),
    };
  }

  /** The monotonic time at which a request that begins now must be over. */
  deadline(): number {
    return this.environment.monotonic() + this.#options.deadlineMs;
  }

  /**
   * Runs a statement that changes nothing, or whose repetition changes nothing more. Repeats it
   * until the deadline if the server cannot be reached.
   */
  async repeat(
    query: Statement,
    values: readonly unknown[],
    doing: string,
    until = this.deadline(),
    passes = mayPass,
  ): Promise<readonly Row[]> {
    let reason: unknown;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.once(query, values, until);
      } catch (error) {
        reason = tellingFailure(reason, error);
        if (!(await this.again(error, attempt, until, passes))) throw storeError(reason, doing, this.place);
      }
    }
  }

  /**
   * Repeats a statement on which the outcome of a commit depends. Also after the role's `lock_timeout`
   * or `statement_timeout`: the commit would else be of unknown outcome.
   */
  insist(query: Statement, values: readonly unknown[], doing: string): Promise<readonly Row[]> {
    return this.repeat(query, values, doing, this.deadline(), maySucceedLater);
  }

  /** Waits until a failed query may be tried again. Returns false if it must not be. */
  async again(error: unknown, attempt: number, until: number, passes = mayPass): Promise<boolean> {
    if (!(error instanceof QueryFailure) || !passes(error)) return false;
    const wait = backoffDelay(this.environment, backoff, attempt);
    if (this.environment.monotonic() + wait >= until) return false;
    await new Promise<void>((resolve) => this.environment.setTimer(resolve, wait));
    return true;
  }

  /**
   * Runs a statement once. Rejects with a {@link QueryFailure}. If the server does not answer until
   * the deadline, closes the connection.
   */
  async once(query: Statement, values: readonly unknown[], until: number): Promise<readonly Row[]> {
    this.#queries++;
    let isSent = false;
    try {
      const client = await this.#connect(until);
      isSent = true;
      return await this.#query(client, query, values, until);
    } catch (error) {
      this.#failures++;
      throw new QueryFailure(error, isSent);
    }
  }

  /** Runs several statements without parameters in one transaction. */
  async script(text: string, doing: string): Promise<void> {
    const until = this.deadline();
    try {
      const client = await this.#connect(until);
      await this.#query(client, { name: "", text }, undefined, until);
    } catch (error) {
      throw storeError(new QueryFailure(error, true), doing, this.place);
    }
  }

  /** Takes a connection out of the pool. The pool closes it afterwards. */
  async hold(): Promise<Held> {
    const client = await this.#connect(this.deadline());
    client.on("error", ignore);
    let isOver = false;
    return {
      run: async (text, name) => {
        this.#queries++;
        const result = await client.query({ name, text, rowMode: "array", types: asText });
        return (result as { readonly rows: readonly Row[] }).rows;
      },
      onNotification: (listener) => client.on("notification", ({ payload }) => listener(payload ?? "")),
      onEnd: (listener) => client.on("end", listener),
      end: () => {
        if (!isOver) client.release(true);
        isOver = true;
      },
    };
  }

  /** Ends an own pool. Leaves nothing on a pool that belongs to the program. */
  async close(): Promise<void> {
    const { pool, isOwn } = this.#options;
    if (isOwn) return await pool.end();
    this.#stopListening();
  }

  /** A connection of the pool. If it comes too late, it goes back to the pool. */
  #connect(until: number): Promise<PostgresClient> {
    const startedAt = this.environment.monotonic();
    this.#waiting++;
    const waited = () => {
      this.#waiting--;
      this.#waitMs += this.environment.monotonic() - startedAt;
    };
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = this.#timer(until, () => {
        isLate = true;
        waited();
        reject(new NoAnswer("no connection became free in time"));
      });
      this.#options.pool.connect().then(
        (client) => {
          timer.cancel();
          if (isLate) client.release();
          else {
            waited();
            resolve(client);
          }
        },
        (error: unknown) => {
          timer.cancel();
          if (!isLate) waited();
          reject(error);
        },
      );
    });
  }

  #query(
    client: PostgresClient,
    { name, text }: Statement,
    values: readonly unknown[] | undefined,
    until: number,
  ): Promise<readonly Row[]> {
    // A connection that breaks emits an error besides the one of its query. Without a listener, that
    // would end the process.
    client.on("error", ignore);
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = (error?: Error) => {
        isOver = true;
        timer.cancel();
        client.release(error);
        client.removeListener("error", ignore);
      };
      const timer = this.#timer(until, () => {
        const error = new NoAnswer("the server did not answer in time");
        // The listener stays, because the connection may still break.
        isOver = true;
        client.release(error);
        reject(error);
      });
      const prepared = this.#options.prepare && values !== undefined ? { name } : {};
      const given = values === undefined ? {} : { values };
      client.query({ ...prepared, ...given, text, rowMode: "array", types: asText }).then(
        (result) => {
          if (isOver) return;
          end();
          resolve((result as { readonly rows: readonly Row[] }).rows);
        },
        (error: Error) => {
          if (isOver) return;
          end(endsConnection(error) ? error : undefined);
          reject(error);
        },
      );
    });
  }

  #timer(until: number, run: () => void): { cancel(): void } {
    const { environment } = this;
    return environment.setTimer(run, Math.max(1, until - environment.monotonic()));
  }
}
