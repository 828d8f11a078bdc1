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
 * gRPC's health service, without a token, as probes need it. `""` and the coordinator's own name: serving from its start until it
 * drains, be it leader or standby. {@link leaderServiceName}: serving while it leads and its lease holds, so that it answers.
 */
export class Health {
  readonly #holdsLease: () => boolean;
  readonly #watchers = new Map<Watcher, { readonly service: string; told: number }>();
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

  /** Serves nothing more. */
  drain(): void {
    this.#isDraining = true;
    this.look();
  }

  /** Tells those who watch what has changed. To be called often: a lease runs out without an event. */
  look(): void {
    for (const [call, watcher] of this.#watchers) {
      const serving = this.#statusOf(watcher.service) ?? ServingStatus.SERVICE_UNKNOWN;
      // A watcher that takes nothing is not written to without end; it is told when it takes again.
      if (serving === watcher.told || call.writableNeedDrain) continue;
      watcher.told = serving;
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
    if (serving === undefined) reply({ code: status.NOT_FOUND, details: "There is no such service here." });
    else reply(null, { status: serving });
  };

  readonly watch = (call: Watcher): void => {
    const { request } = call;
    if (request instanceof CoordinatorError) {
      call.emit("error", refusalOf(request));
      return;
    }
    if (this.#watchers.size >= coordinatorLimits.streams) {
      call.emit("error", refusalOf(new LimitExceededError("Too many watch its health already.")));
      return;
    }
    const end = () => this.#watchers.delete(call);
    call.on("cancelled", end);
    call.on("error", end);
    const told = this.#statusOf(request.service) ?? ServingStatus.SERVICE_UNKNOWN;
    this.#watchers.set(call, { service: request.service, told });
    call.write({ status: told });
  };

  /** Ends all that watch. */
  close(): void {
    for (const call of this.#watchers.keys()) call.end();
    this.#watchers.clear();
  }

  /** Undefined for a service that is not here. */
  #statusOf(service: string): number | undefined {
    const isServing = this.#servings[service];
    if (isServing === undefined) return undefined;
    return !this.#isDraining && isServing() ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }
}
