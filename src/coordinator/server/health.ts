import type { ServerUnaryCall, ServerWritableStream, sendUnaryData } from "@grpc/grpc-js";
import { CoordinatorError, LimitExceededError } from "../../errors/index.js";
import { coordinatorLimits } from "../limits.js";
import { status } from "../packages.js";
import { refusalOf } from "../wire/call-status.js";
import type { Received } from "../wire/message-codec.js";
import { type HealthRequest, type HealthResponse, ServingStatus } from "../wire/messages.js";
import { leaderServiceName, serviceName } from "../wire/service-names.js";

type Watcher = ServerWritableStream<Received<HealthRequest>, Received<HealthResponse>>;

/**
 * gRPC's health service. It asks for no token, because probes have none. The services `""` and the
 * coordinator's own name are SERVING from the start until the coordinator drains, on the leader and
 * on standbys. {@link leaderServiceName} is SERVING only while this coordinator leads and its lease
 * holds. Only then does it answer clients.
 */
export class Health {
  readonly #holdsLease: () => boolean;
  readonly #watchers = new Map<Watcher, { readonly service: string; reported: number }>();
  readonly #servings: Readonly<Record<string, (() => boolean) | undefined>> = Object.assign(
    Object.create(null) as object,
    {
      "": () => true,
      [serviceName]: () => true,
      [leaderServiceName]: () => this.#holdsLease(),
    },
  );
  #isDraining = false;

  /** `holdsLease`: whether this coordinator leads at the moment of the call. */
  constructor(holdsLease: () => boolean) {
    this.#holdsLease = holdsLease;
  }

  /** From now on every service is NOT_SERVING. */
  drain(): void {
    this.#isDraining = true;
    this.look();
  }

  /**
   * Sends changed statuses to the watchers. Must be called often, because no event tells when a
   * lease expires.
   */
  look(): void {
    for (const [call, watcher] of this.#watchers) {
      const serving = this.#statusOf(watcher.service) ?? ServingStatus.SERVICE_UNKNOWN;
      // Back-pressure: a watcher that does not read gets the newest status when it reads again.
      if (serving === watcher.reported || call.writableNeedDrain) continue;
      watcher.reported = serving;
      call.write({ status: serving });
    }
  }

  readonly check = (
    call: ServerUnaryCall<Received<HealthRequest>, Received<HealthResponse>>,
    reply: sendUnaryData<Received<HealthResponse>>,
  ): void => {
    const { request } = call;
    if (request instanceof CoordinatorError) {
      reply(refusalOf(request));
      return;
    }
    const serving = this.#statusOf(request.service);
    if (serving === undefined) reply({ code: status.NOT_FOUND, details: "This server has no such service." });
    else reply(null, { status: serving });
  };

  readonly watch = (call: Watcher): void => {
    const { request } = call;
    if (request instanceof CoordinatorError) {
      call.emit("error", refusalOf(request));
      return;
    }
    if (this.#watchers.size >= coordinatorLimits.streams) {
      call.emit(
        "error",
        refusalOf(
          new LimitExceededError(
            "Too many clients already watch the health of this server. Let fewer clients watch it.",
          ),
        ),
      );
      return;
    }
    const end = () => this.#watchers.delete(call);
    call.on("cancelled", end);
    call.on("error", end);
    const reported = this.#statusOf(request.service) ?? ServingStatus.SERVICE_UNKNOWN;
    this.#watchers.set(call, { service: request.service, reported });
    call.write({ status: reported });
  };

  /** Ends the streams of all watchers. */
  close(): void {
    for (const call of this.#watchers.keys()) call.end();
    this.#watchers.clear();
  }

  /** Undefined if this server does not have the service. */
  #statusOf(service: string): number | undefined {
    const isServing = this.#servings[service];
    if (isServing === undefined) return undefined;
    return !this.#isDraining && isServing() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }
}
