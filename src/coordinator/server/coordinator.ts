/**
 * The service that all processes of a cluster share. Its terms:
 *
 * - *Coordinator*: a process that runs this service. Of all coordinators of a store, the one that
 *   holds the oracle's lease is the *leader*; the others are *standbys*, which name the leader.
 * - *Term*: one uninterrupted period of leadership. A term has an *epoch* and begins with an empty
 *   membership table. A pause of the process ends a term, even if the process keeps the lease.
 * - *Session*: a process of the cluster that has joined. The session lives as long as its stream.
 * - *Member*: a session in the *membership table* of the term.
 * - *Claim*: advice that a session works on a row, so that other sessions skip it.
 * - *Busy*: a session with a run in flight. A *busy period* lasts until the session has none. A
 *   process that finds all sessions quiet twice can tell by the count of busy periods whether
 *   something ran in between.
 *
 * `wire/` has the messages and their codec, `security/` the certificates and tokens, and
 * `membership/` the membership table and the leadership. `client/` has the client, and this folder
 * the server.
 */

import type { ServerOptions } from "@grpc/grpc-js";
import { sleep } from "../../environment/index.js";
import { InvalidArgumentError, LimitExceededError } from "../../errors/index.js";
import type { LeaderFailure, LeaderStatus } from "../../oracle/index.js";
import { keepalive, coordinatorLimits as limits } from "../limits.js";
import { Leadership } from "../membership/leadership.js";
import { Server, ServerCredentials } from "../packages.js";
import { Admission, checkToken } from "../security/admission.js";
import { checkServerCertificate } from "../security/server-certificate.js";
import { ReplaceableCredentials } from "../security/server-credentials.js";
import { type Address, formatAddress } from "../wire/address.js";
import type { ActivityReply, Nothing, SessionReply, SessionRequest } from "../wire/messages.js";
import { coordinatorService, healthService } from "../wire/service.js";
import { answering, type ServerStream, serveStream } from "./calls.js";
import {
  type CoordinatorOptions,
  type CoordinatorSettings,
  coordinatorSettings,
} from "./coordinator-options.js";
import { Gate } from "./gate.js";
import { Health } from "./health.js";
import { SessionServer, TimestampServer } from "./stream-servers.js";

/** How long a stopping coordinator waits for its clients to disconnect, in milliseconds. */
const shutdownMs = 1_000;

/** The longest time between two reads of the lease by a standby, in milliseconds. */
const maxLookMs = 500;

/** The longest time that the store may take for one request, in milliseconds. */
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
  /**
   * The number of connected sessions. `busySessions` counts those that have a run in flight. Both
   * are 0 unless this coordinator leads.
   */
  readonly sessions: number;
  readonly busySessions: number;
  /** Open streams of clients. */
  readonly streams: number;
  /** Timestamps that clients have asked for. */
  readonly timestamps: number;
  /** Failures in the background. */
  readonly failures: number;
}

/** A coordinator that runs in this process, as the leader or as a standby. */
export interface Coordinator {
  /** `HOST:PORT` by which clients reach it. */
  readonly address: string;
  /**
   * Its role, and which coordinator leads. The role stays `leading` while an expired lease is being
   * renewed.
   */
  readonly status: LeaderStatus;
  /** Whether it leads and its lease holds right now. Only then does it answer clients. */
  readonly holdsLease: boolean;
  /** What it counts, for metrics. */
  readonly figures: CoordinatorFigures;
  /** When its certificate expires, in milliseconds since 1970; undefined without TLS. */
  readonly certificateExpires: number | undefined;
  /**
   * Replaces the certificate, for new connections, and the tokens, for new calls.
   *
   * @throws InvalidArgumentError for secrets with which the coordinator would not have started. It
   * then keeps the old secrets.
   */
  replace(secrets: Pick<CoordinatorOptions, "tls" | "token">): void;
  /**
   * Releases the lease so that a standby takes over at once, sends its clients to the new leader,
   * and closes. Never rejects. Calling it again has no effect.
   */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a coordinator, the service that all processes of a cluster share. It gives out timestamps
 * if the store has no counter of its own. It also tracks which sessions are alive, what they work
 * on and whether any of them is busy. A store may have any number of coordinators. The one that
 * holds the lease leads and answers; the standbys refuse, name the leader, and take over when the
 * leader ends.
 *
 * Rejects with an `InvalidArgumentError` if an option makes no sense, such as listening beyond this
 * machine without TLS and a token, and if it cannot listen at the address.
 *
 * ```ts
 * await using coordinator = await startCoordinator({ store, environment: systemEnvironment, listen: "127.0.0.1:4100" });
 * ```
 */
export async function startCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const settings = coordinatorSettings(options);
  let coordinator: CoordinatorServer | undefined;
  const admission = new Admission(settings.tokens, () => coordinator?.cluster ?? "");
  const server = new Server({ ...serverOptions, interceptors: [new Gate(admission).interceptor] });
  const { tls, environment } = options;
  const checked = tls && checkServerCertificate(tls, settings, environment.now());
  const credentials = tls && new ReplaceableCredentials(tls);
  const bound = await bind(server, settings.listen, credentials);
  try {
    const address = settings.advertise ?? formatAddress(bound);
    coordinator = new CoordinatorServer(options, settings, address, {
      server,
      admission,
      credentials,
      certificateExpires: checked?.expires,
    });
    return coordinator;
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
    const { store, environment, leaseMs, windowMs, seen } = options;
    const onFailure = (failure: LeaderFailure) => {
      this.#failures++;
      options.onFailure?.(failure);
    };
    const onChange = (status: LeaderStatus) => {
      this.#health.look();
      options.onChange?.(status);
    };
    // Short, so that a standby takes a released lease at once.
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
      seen,
      onFailure,
      onChange,
    };
    this.#leadership = new Leadership(asked, () => this.#health.look());
    this.#addServices();
    this.#leadership.start();
  }

  /** Identifies its database. Empty while it is not known. */
  get cluster(): string {
    return this.#leadership.leader.cluster;
  }

  get holdsLease(): boolean {
    return this.#leadership.leader.holds;
  }

  replace({ tls, token }: Pick<CoordinatorOptions, "tls" | "token">): void {
    const { tokens } = coordinatorSettings({ ...this.#options, tls, token });
    if ((tls === undefined) !== (this.#credentials === undefined)) {
      throw new InvalidArgumentError(
        "A coordinator cannot start or stop using TLS while it runs. Restart it.",
      );
    }
    for (const token of tokens) checkToken(token);
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
    this.#server.addService(coordinatorService, {
      timestamps: (stream: ServerStream<number, { first: number; count: number }>) => {
        serveStream(stream, () => {
          this.#checkCounts();
          const onAsked = (count: number) => {
            this.#timestamps += count;
          };
          return new TimestampServer(this.#leadership, onAsked, this.#enter());
        });
      },
      session: (stream: ServerStream<SessionRequest, SessionReply>) => {
        serveStream(stream, (fail) => new SessionServer(this.#leadership, fail, this.#enter()));
      },
      alive: answering<readonly string[], readonly (boolean | undefined)[]>((sessions) => {
        const { table } = this.#leadership.term();
        return sessions.map((session) => table.alive(session));
      }),
      activity: answering<Nothing, ActivityReply>(() => this.#leadership.term().table.activity()),
    });
    this.#server.addService(healthService, { check: this.#health.check, watch: this.#health.watch });
  }

  /** Throws if the store counts timestamps itself. */
  #checkCounts(): void {
    const { store } = this.#options;
    if (store.atomic === undefined) return;
    throw new InvalidArgumentError(
      `it assigns no timestamps: ${store.description} assigns them itself. Open the database without an oracle.`,
    );
  }

  #enter(): () => void {
    if (this.#streams >= limits.streams) {
      throw new LimitExceededError(
        `it already serves ${limits.streams} streams, the limit. Run fewer processes.`,
      );
    }
    this.#streams++;
    return () => {
      this.#streams--;
    };
  }
}

/** Listens at the address. Resolves to the address with the port that it got. */
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
          `A coordinator cannot listen on ${formatAddress(listen)}: ${error.message}. Choose another address with \`listen\`.`,
          { cause: error },
        ),
      );
    });
  });
}
