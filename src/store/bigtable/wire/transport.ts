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
  /** Connections at the most; each is opened when it is first used. */
  readonly connections: number;
  /** Requests under way at the most, on all connections together. Default: 100 for each connection. */
  readonly maxInFlight?: number | undefined;
}

export interface CallOptions {
  readonly metadata: Metadata;
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Requests that Bigtable takes at a time on a connection. */
const streamsOfConnection = 100;

/** Bigtable's messages are smaller; the emulator sends a row's cell in one. */
const maxMessageBytes = 300 << 20;

/**
 * Bytes that may be on their way to this client, on a connection and on each of its streams. HTTP/2 begins with 64 KiB for all
 * streams of a connection together, and a window is opened again only when this process comes to its sockets: one
 * that computes a quarter of a second at a time would get 256 KiB a second.
 */
const windowBytes = 8 << 20;

const channelOptions = {
  // What is to be done again is decided here, by what it is; a mutation never is.
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

/** So many deadlines in a row, with no answer between them, and a connection counts as dead. */
const deadlinesOfTheDead = 2;

/** One connection, and what is known of it. */
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

  /** Whether it still seems to be alive after a call that ended so. */
  end(code: status): boolean {
    this.#calls--;
    this.#deadlines = code === status.DEADLINE_EXCEEDED ? this.#deadlines + 1 : 0;
    this.#closeWhenDone();
    return this.#deadlines < deadlinesOfTheDead;
  }

  /** Gets no more calls. Closes when the last one has ended: closing fails calls that have not been sent yet. */
  leave(): void {
    this.#isLeft = true;
    this.#closeWhenDone();
  }

  #closeWhenDone(): void {
    if (this.#isLeft && this.#calls === 0) this.client.close();
  }
}

/**
 * Calls on a few connections, one after the other. A connection on which nothing is answered is left for a new one: a
 * break of which nobody was told would hold all of its calls up to their deadlines until the keepalive notices.
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

  /** One request, one answer. `done` gets it, or a `ServiceError`. */
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

  /** As {@link ask}. Rejects with a `ServiceError`. */
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
   * One request, a stream of answers, until `onMessage` says false: it has enough. `done` gets null, a `ServiceError`, or what
   * `onMessage` threw.
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

  /** As {@link listen}. Rejects with a `ServiceError`, or with what `onMessage` throws. */
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

/** Cookies may come with the headers of an answer that fails later; those of its trailers are newer. */
function keepCookies({ metadata }: ServiceError, headers: Metadata | undefined): void {
  for (const [key, value] of cookiesOf(headers) ?? [])
    if (metadata.get(key).length === 0) metadata.set(key, value);
}

/** The network's time is the system's, whatever the environment's clock does. */
function deadline({ deadlineMs }: CallOptions): number {
  return systemEnvironment.now() + deadlineMs;
}

/**
 * Each call takes the stack of its caller, for the text of an error that nobody shows; to walk it through the awaits of a
 * transaction is a tenth of a request's time.
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
