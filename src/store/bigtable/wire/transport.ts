import { systemEnvironment } from "../../../environment/index.js";
import { type ChannelCredentials, Client, Metadata, type ServiceError, status } from "../packages.js";
import { userAgent } from "./client-names.js";
import { cookiesOf } from "./cookies.js";
import { InFlight } from "./in-flight.js";
import type { Method } from "./rpc.js";

export interface TransportOptions {
  /** `HOST:PORT`. */
  readonly address: string;
  readonly credentials: ChannelCredentials;
  /** The maximum number of connections. Each is opened when it is first used. */
  readonly connections: number;
  /**
   * The maximum number of requests in flight, on all connections together. Default: 100 for each
   * connection.
   */
  readonly maxInFlight?: number | undefined;
}

export interface CallOptions {
  readonly metadata: Metadata;
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Requests that Bigtable takes at a time on a connection. */
const streamsOfConnection = 100;

/**
 * Messages of Bigtable are smaller than this. The emulator sends even a large cell in one message.
 */
const maxMessageBytes = 300 << 20;

/**
 * The flow-control window of a connection and of each of its streams. HTTP/2 begins with 64 KiB for
 * all streams of a connection, and the window opens again only when this process reads its sockets.
 * With 64 KiB, a process that computes for a quarter of a second at a time would receive 256 KiB a
 * second.
 */
const windowBytes = 8 << 20;

const channelOptions = {
  // This package decides what is retried. It never retries a mutation.
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  "grpc.use_local_subchannel_pool": 1,
  "grpc.max_receive_message_length": maxMessageBytes,
  "grpc.max_send_message_length": maxMessageBytes,
  "grpc-node.flow_control_window": windowBytes,
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 5_000,
};

/** After this many missed deadlines without an answer in between, a connection counts as dead. */
const deadlinesOfTheDead = 2;

/** One connection with its state. */
class Connection {
  readonly client: Client;
  #deadlines = 0;
  #calls = 0;
  #isLeft = false;

  constructor({ address, credentials }: TransportOptions) {
    const options = { ...channelOptions, "grpc.primary_user_agent": userAgent() };
    this.client = new Client(address, credentials, options);
  }

  begin(): void {
    this.#calls++;
  }

  /** Ends a call. False if the connection now counts as dead. */
  end(code: status): boolean {
    this.#calls--;
    this.#deadlines = code === status.DEADLINE_EXCEEDED ? this.#deadlines + 1 : 0;
    this.#closeWhenDone();
    return this.#deadlines < deadlinesOfTheDead;
  }

  /**
   * Takes no more calls, and closes after the last one. Closing at once would fail calls that have
   * not been sent yet.
   */
  leave(): void {
    this.#isLeft = true;
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (this.#isLeft && this.#calls === 0) this.client.close();
  }
}

/**
 * Distributes calls over a few connections. The transport replaces a connection that gives no
 * answers. Otherwise a silently broken connection would block all of its calls until their
 * deadlines, or until the keepalive notices.
 */
export class Transport {
  readonly #options: TransportOptions;
  readonly #connections: (Connection | undefined)[];
  readonly #inFlight: InFlight;
  #next = 0;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#inFlight = new InFlight(options.maxInFlight ?? streamsOfConnection * options.connections);
    this.#connections = new Array(options.connections).fill(undefined);
  }

  /** A unary call. `done` gets the answer, or a `ServiceError`. */
  ask<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
    done: (error: ServiceError | null, response?: Response) => void,
  ): void {
    const until = deadline(options);
    this.#inFlight.begin(options, () => this.#ask(method, request, options, until, done), done);
  }

  #ask<Request, Response>(
    { path, encode, decode }: Method<Request, Response>,
    request: Request,
    { signal, metadata }: CallOptions,
    until: number,
    done: (error: ServiceError | null, response?: Response) => void,
  ): void {
    const index = this.#turn();
    const connection = this.#connection(index);
    const answered = (error: ServiceError | null, response?: Response) => {
      if (cancel !== undefined) signal!.removeEventListener("abort", cancel);
      this.#note(index, connection, error === null ? status.OK : error.code);
      if (error !== null) keepCookies(error, headers);
      done(error, response);
    };
    const { client } = connection;
    const callOptions = { deadline: until };
    let headers: Metadata | undefined;
    connection.begin();
    const call = withoutStack(() =>
      client.makeUnaryRequest(path, encode, decode, request, metadata, callOptions, answered),
    );
    call.on("metadata", (received: Metadata) => {
      headers = received;
    });
    const cancel = signal && (() => call.cancel());
    if (cancel !== undefined) signal!.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) call.cancel();
  }

  /** Like {@link ask}, but returns a promise. Rejects with a `ServiceError`. */
  unary<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.ask(method, request, options, (error, response) => {
        if (error === null) resolve(response!);
        else reject(error);
      });
    });
  }

  /**
   * A call with a stream of answers. The stream ends at the latest when `onMessage` returns false.
   * `done` then gets null, a `ServiceError`, or the error that `onMessage` threw.
   */
  listen<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
    onMessage: (message: Response) => boolean,
    done: (error: unknown) => void,
  ): void {
    const until = deadline(options);
    this.#inFlight.begin(options, () => this.#listen(method, request, options, until, onMessage, done), done);
  }

  #listen<Request, Response>(
    { path, encode, decode }: Method<Request, Response>,
    request: Request,
    { signal, metadata }: CallOptions,
    until: number,
    onMessage: (message: Response) => boolean,
    done: (error: unknown) => void,
  ): void {
    const index = this.#turn();
    const connection = this.#connection(index);
    const { client } = connection;
    const callOptions = { deadline: until };
    connection.begin();
    const call = withoutStack(() =>
      client.makeServerStreamRequest(path, encode, decode, request, metadata, callOptions),
    );
    const cancel = signal && (() => call.cancel());
    let over = false;
    let headers: Metadata | undefined;
    const end = (code: status, error: unknown) => {
      if (over) return;
      over = true;
      if (cancel !== undefined) signal!.removeEventListener("abort", cancel);
      this.#note(index, connection, code);
      done(error);
    };
    call.on("metadata", (received: Metadata) => {
      headers = received;
    });
    call.on("data", (message: Response) => {
      if (over) return;
      let failure: unknown = null;
      try {
        if (onMessage(message)) return;
      } catch (error) {
        failure = error;
      }
      end(status.OK, failure);
      call.cancel();
    });
    call.on("end", () => end(status.OK, null));
    call.on("error", (error: ServiceError) => {
      keepCookies(error, headers);
      end(error.code, error);
    });
    if (cancel !== undefined) signal!.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) call.cancel();
  }

  /**
   * Like {@link listen}, but returns a promise. Rejects with a `ServiceError`, or with the error
   * that `onMessage` throws.
   */
  stream<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: CallOptions,
    onMessage: (message: Response) => boolean,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      this.listen(method, request, options, onMessage, (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  close(): void {
    this.#inFlight.close();
    for (const connection of this.#connections) connection?.client.close();
    this.#connections.fill(undefined);
  }

  #turn(): number {
    this.#next = (this.#next + 1) % this.#connections.length;
    return this.#next;
  }

  #connection(index: number): Connection {
    this.#connections[index] ??= new Connection(this.#options);
    return this.#connections[index];
  }

  #note(index: number, connection: Connection, code: status): void {
    this.#inFlight.end();
    if (connection.end(code) || this.#connections[index] !== connection) return;
    this.#connections[index] = undefined;
    connection.leave();
  }
}

/**
 * Adds the routing cookies of the headers to the error's metadata. Cookies in the trailers are
 * newer, so they stay.
 */
function keepCookies({ metadata }: ServiceError, headers: Metadata | undefined): void {
  for (const [key, value] of cookiesOf(headers) ?? [])
    if (metadata.get(key).length === 0) metadata.set(key, value);
}

/** Deadlines use the system's clock, whatever the environment's clock does. */
function deadline({ deadlineMs }: CallOptions): number {
  return systemEnvironment.now() + deadlineMs;
}

/**
 * gRPC captures the stack of each caller for the text of an error that is never shown. Walking the
 * stack through the awaits of a transaction takes a tenth of the time of a request.
 */
function withoutStack<Call>(begin: () => Call): Call {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return begin();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

export { Metadata };
