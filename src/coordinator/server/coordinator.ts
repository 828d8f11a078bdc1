import type { ServerOptions } from "@grpc/grpc-js";
import { sleep } from "../../environment/index.js";
import { InvalidArgumentError, LimitExceededError } from "../../errors/index.js";
import type { LeaderFailure, LeaderStatus } from "../../oracle/index.js";
import { keepalive, coordinatorLimits as limits } from "../limits.js";
import { Leadership } from "../membership/leadership.js";
import { Server, ServerCredentials } from "../packages.js";
import { Admission } from "../security/admission.js";
import { checkServerCertificate } from "../security/server-certificate.js";
import { ReplaceableCredentials } from "../security/server-credentials.js";
import { type Address, formatAddress } from "../wire/address.js";
import type {
  ActivityReply,
  LatestTimestamp,
  Nothing,
  SessionReply,
  SessionRequest,
} from "../wire/messages.js";
import { coordinatorService, healthService } from "../wire/service.js";
import { answering, type ServerStream, serveStream } from "./calls.js";
import {
  type CoordinatorOptions,
  type CoordinatorSettings,
  coordinatorSettings,
} from "./coordinator-options.js";
import { Health } from "./health.js";
import { SessionServer, TimestampServer } from "./stream-servers.js";

/** How long clients may take to leave when a coordinator stops, in milliseconds. */
const shutdownMs = 1_000;

/** How often a standby looks whether the leader has gone, in milliseconds, at most. */
const maxLookMs = 500;

/** How long the store may take to answer one request, in milliseconds, at most. */
const maxStoreMs = 5_000;

const serverOptions: ServerOptions = {
  "grpc.keepalive_time_ms": keepalive.everyMs,
  "grpc.keepalive_timeout_ms": keepalive.withinMs,
  "grpc.max_receive_message_length": limits.requestBytes,
  "grpc.max_concurrent_streams": 1_000,
  "grpc.enable_channelz": 0,
};

/** What a coordinator counts. */
export interface CoordinatorFigures {
  /** Sessions that report to it, and those of them that have a run in flight; 0 unless it leads. */
  readonly sessions: number;
  readonly busySessions: number;
  /** Streams of clients. */
  readonly streams: number;
  /** Timestamps that it was asked for. */
  readonly timestamps: number;
  /** Failures in the background. */
  readonly failures: number;
}

/** The service of a cluster, in this process: leader, or standby. */
export interface Coordinator {
  /** `HOST:PORT` by which clients reach it. */
  readonly address: string;
  /** Whether it leads, and who does. Its role stays `leading` while it renews a lease that has run out. */
  readonly status: LeaderStatus;
  /** Whether it leads and its lease holds at this moment, so that it answers clients. */
  readonly holdsLease: boolean;
  /** What it counts, for metrics. */
  readonly figures: CoordinatorFigures;
  /** When its certificate expires, in milliseconds since 1970; undefined without TLS. */
  readonly certificateExpires: number | undefined;
  /**
   * Takes another certificate and other tokens: the certificate for connections from now on, the tokens for calls from now on.
   *
   * @throws InvalidArgumentError for what it would have refused at its start; it keeps what it has then.
   */
  replace(secrets: Pick<CoordinatorOptions, "tls" | "token">): void;
  /**
   * Gives the lease back, so that a standby takes over at once, tells its clients to go there, and closes. Never rejects.
   * Harmless to repeat.
   */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a coordinator: the one small service that the processes of a cluster share. It gives out timestamps where the store
 * does not count by itself, and knows which sessions live, what they work on and whether anybody does. Of any
 * number of coordinators of one store the one that holds its lease serves; the others refuse, name it, and take over when it goes.
 *
 * Rejects with an `InvalidArgumentError` for options that cannot be meant, such as listening beyond the machine without TLS and a
 * token, and for an address that cannot be listened at.
 *
 * ```ts
 * await using coordinator = await startCoordinator({ store, environment: systemEnvironment, listen: "127.0.0.1:4100" });
 * ```
 */
export async function startCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const settings = coordinatorSettings(options);
  const admission = new Admission(settings.tokens);
  const server = new Server(serverOptions);
  const { tls, environment } = options;
  const checked = tls && checkServerCertificate(tls, settings, environment.now());
  const credentials = tls && new ReplaceableCredentials(tls);
  const bound = await bind(server, settings.listen, credentials);
  try {
    const address = settings.advertise ?? formatAddress(bound);
    return new CoordinatorServer(options, settings, address, {
      server,
      admission,
      credentials,
      certificateExpires: checked?.expires,
    });
  } catch (error) {
    server.forceShutdown();
    throw error;
  }
}

interface ServerParts {
  readonly server: Server;
  readonly admission: Admission;
  readonly credentials: ReplaceableCredentials | undefined;
  readonly certificateExpires: number | undefined;
}

class CoordinatorServer implements Coordinator {
  readonly address: string;
  certificateExpires: number | undefined;
  readonly #options: CoordinatorOptions;
  readonly #settings: CoordinatorSettings;
  readonly #server: Server;
  readonly #credentials: ReplaceableCredentials | undefined;
  readonly #admission: Admission;
  readonly #health: Health;
  readonly #leadership: Leadership;
  #streams = 0;
  #timestamps = 0;
  #failures = 0;
  #stopping: Promise<void> | undefined;

  constructor(
    options: CoordinatorOptions,
    settings: CoordinatorSettings,
    address: string,
    { server, admission, credentials, certificateExpires }: ServerParts,
  ) {
    this.certificateExpires = certificateExpires;
    this.address = address;
    this.#options = options;
    this.#settings = settings;
    this.#server = server;
    this.#admission = admission;
    this.#credentials = credentials;
    this.#health = new Health(() => this.holdsLease);
    const { store, environment, leaseMs, windowMs } = options;
    const onFailure = (failure: LeaderFailure) => {
      this.#failures++;
      options.onFailure?.(failure);
    };
    const onChange = (status: LeaderStatus) => {
      this.#health.look();
      options.onChange?.(status);
    };
    // So that a lease that is given back is taken at once.
    const lookEveryMs = Math.min(maxLookMs, (leaseMs ?? 10_000) / 4);
    const asked = {
      store,
      environment,
      name: address,
      leaseMs,
      windowMs,
      lookEveryMs,
      requestTimeoutMs: leaseMs === undefined ? undefined : Math.min(leaseMs / 4, maxStoreMs),
      maxAtOnce: windowMs === undefined ? limits.timestamps : undefined,
      onFailure,
      onChange,
    };
    this.#leadership = new Leadership(asked, () => this.#health.look());
    this.#addServices();
    this.#leadership.start();
  }

  get holdsLease(): boolean {
    return this.#leadership.leader.holds;
  }

  replace({ tls, token }: Pick<CoordinatorOptions, "tls" | "token">): void {
    const { tokens } = coordinatorSettings({ ...this.#options, tls, token });
    if ((tls === undefined) !== (this.#credentials === undefined)) {
      throw new InvalidArgumentError(
        "A coordinator cannot begin or cease to speak TLS while it runs: restart it.",
      );
    }
    if (tls !== undefined) {
      const checked = checkServerCertificate(tls, this.#settings, this.#options.environment.now());
      this.#credentials!.replace(tls);
      this.certificateExpires = checked.expires;
    }
    this.#admission.replace(tokens);
  }

  get figures(): CoordinatorFigures {
    const { sessions, busy } = this.#leadership.currentTerm?.table.activity() ?? { sessions: [], busy: [] };
    const counts = { streams: this.#streams, timestamps: this.#timestamps, failures: this.#failures };
    return { sessions: sessions.length, busySessions: busy.length, ...counts };
  }

  get status(): LeaderStatus {
    return this.#leadership.leader.status;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    this.#health.drain();
    await this.#leadership.stop();
    this.#health.close();
    const closed = new Promise<void>((resolve) => {
      this.#server.tryShutdown(() => resolve());
    });
    const ending = new AbortController();
    const late = sleep(this.#options.environment, shutdownMs, ending.signal).then(
      () => this.#server.forceShutdown(),
      () => undefined,
    );
    await Promise.race([closed, late]);
    ending.abort();
  }

  #addServices(): void {
    const admission = this.#admission;
    this.#server.addService(coordinatorService, {
      timestamps: (stream: ServerStream<number, { first: number; count: number }>) => {
        serveStream(stream, (metadata) => {
          admission.check(metadata);
          this.#checkCounts();
          const onAsked = (count: number) => {
            this.#timestamps += count;
          };
          return new TimestampServer(this.#leadership, onAsked, this.#enter());
        });
      },
      latest: answering<Nothing, LatestTimestamp>(admission, () => {
        this.#checkCounts();
        return { timestamp: this.#leadership.leader.latest() };
      }),
      session: (stream: ServerStream<SessionRequest, SessionReply>) => {
        serveStream(stream, (metadata, fail) => {
          admission.check(metadata);
          return new SessionServer(this.#leadership, fail, this.#enter());
        });
      },
      alive: answering<readonly string[], readonly (boolean | undefined)[]>(admission, (sessions) => {
        const { table } = this.#leadership.term();
        return sessions.map((session) => table.alive(session));
      }),
      activity: answering<Nothing, ActivityReply>(admission, () => this.#leadership.term().table.activity()),
    });
    this.#server.addService(healthService, { check: this.#health.check, watch: this.#health.watch });
  }

  /** Timestamps come from the coordinator only where the store has none of its own. */
  #checkCounts(): void {
    const { store } = this.#options;
    if (store.atomic === undefined) return;
    throw new InvalidArgumentError(
      `it gives no timestamps: ${store.description} counts by itself. Open the database without an oracle.`,
    );
  }

  #enter(): () => void {
    if (this.#streams >= limits.streams) {
      throw new LimitExceededError(`it serves ${limits.streams} streams, and takes no more.`);
    }
    this.#streams++;
    return () => {
      this.#streams--;
    };
  }
}

/** Resolves to where it listens. */
async function bind(
  server: Server,
  listen: Address,
  secure: ServerCredentials | undefined,
): Promise<Address> {
  const credentials = secure ?? ServerCredentials.createInsecure();
  return await new Promise((resolve, reject) => {
    server.bindAsync(formatAddress(listen), credentials, (error, port) => {
      if (error === null) {
        resolve({ host: listen.host, port });
        return;
      }
      reject(
        new InvalidArgumentError(
          `A coordinator cannot listen at ${formatAddress(listen)}: ${error.message}. Choose another address with \`listen\`.`,
          { cause: error },
        ),
      );
    });
  });
}
