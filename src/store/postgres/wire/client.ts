/** A query as `pg` takes it. */
export interface PostgresQuery {
  /** Name of the prepared statement. Undefined for none. */
  readonly name?: string | undefined;
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  readonly rowMode?: "array";
  readonly types?: { getTypeParser(): (value: string) => unknown };
}

/** A connection of a {@link PostgresPool}. `Client` of `pg` is one. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<unknown>;
  /** Returns the connection to the pool. With an error, the pool closes it instead. */
  release(error?: Error | boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(
    event: "notification",
    listener: (notification: { readonly payload?: string | undefined }) => void,
  ): unknown;
  on(event: "end", listener: () => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** A pool of connections. `Pool` of `pg` is one. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: Pick<PostgresClient, "on">) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "connect", listener: (client: Pick<PostgresClient, "on">) => void): unknown;
}

/** One row of an answer: each column as text, or null. */
export type Row = readonly (string | null)[];
