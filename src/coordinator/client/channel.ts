import type { CallOptions, ChannelOptions, ClientDuplexStream } from "@grpc/grpc-js";
import { keepalive, coordinatorLimits as limits } from "../limits.js";
import { Client, type Metadata } from "../packages.js";
import { type Introduction, introduction } from "../security/admission.js";
import { channelSecurity } from "../security/client-credentials.js";
import type { Security } from "../security/client-security.js";
import type { Received } from "../wire/message-codec.js";
import type { Method } from "../wire/service.js";

/** The client side of a stream. */
export type ClientStream<Request, Reply> = ClientDuplexStream<Received<Request>, Received<Reply>>;

const channelOptions: ChannelOptions = {
  "grpc.keepalive_time_ms": keepalive.everyMs,
  "grpc.keepalive_timeout_ms": keepalive.withinMs,
  "grpc.max_receive_message_length": limits.replyBytes,
  // This package drops a failed connection and decides when to reconnect. So gRPC must neither
  // share connections between channels nor retry calls.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
};

/** A connection to one coordinator. */
export class Channel {
  readonly address: string;
  readonly #client: Client;
  readonly #security: Security;
  readonly #about: Pick<Introduction, "cluster" | "version">;
  readonly #dropping = new AbortController();

  /** `version` is the protocol version to claim, for tests. */
  constructor(address: string, security: Security, about: Pick<Introduction, "cluster" | "version"> = {}) {
    this.address = address;
    this.#security = security;
    this.#about = about;
    const { tls, token } = security;
    const { credentials, options } = channelSecurity(address, { tls, token });
    this.#client = new Client(`dns:${address}`, credentials, { ...channelOptions, ...options });
  }

  /** Uses the current token, which may have changed since the connection was made. */
  #introduction(): Metadata {
    return introduction({ token: this.#security.token, ...this.#about });
  }

  /** Aborted when the channel is dropped. */
  get signal(): AbortSignal {
    return this.#dropping.signal;
  }

  /**
   * A unary call. Rejects with gRPC's error, or with a `CoordinatorError` if the answer is invalid.
   */
  ask<Request, Reply>(method: Method<Request, Reply>, request: Request, signal: AbortSignal): Promise<Reply> {
    const { path, requestSerialize, responseDeserialize } = method;
    return new Promise((resolve, reject) => {
      const done = (error: Error | null, reply?: Received<Reply>) => {
        signal.removeEventListener("abort", cancel);
        if (error !== null) reject(error);
        else if (reply instanceof Error) reject(reply);
        else resolve(reply as Reply);
      };
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        this.#introduction(),
        {},
        done,
      );
      const cancel = () => call.cancel();
      signal.addEventListener("abort", cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  /** Opens a stream. */
  open<Request, Reply>(
    { path, requestSerialize, responseDeserialize }: Method<Request, Reply>,
    options: CallOptions = {},
  ): ClientStream<Request, Reply> {
    return this.#client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      this.#introduction(),
      options,
    );
  }

  /** Closes the connection with everything on it. Calling it again has no effect. */
  drop(): void {
    if (this.#dropping.signal.aborted) return;
    this.#dropping.abort();
    this.#client.close();
  }
}
