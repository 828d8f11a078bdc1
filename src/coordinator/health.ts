import { type ServerUnaryCall, type ServerWritableStream, type sendUnaryData, status } from "@grpc/grpc-js";
import { CoordinatorError, LimitExceededError } from "../errors/index.js";
import type { Received } from "./codec.js";
import { coordinatorLimits } from "./limits.js";
import { type HealthRequest, type HealthResponse, ServingStatus } from "./messages.js";
import { serviceName } from "./service.js";
import { refusalOf } from "./status.js";

/** The name under which the health service tells whether this very coordinator leads. */
export const leaderServiceName = `${serviceName}/leader`;

type Watcher = ServerWritableStream<Received<HealthRequest>, Received<HealthResponse>>;

/**
 * gRPC's health service, without a token, as probes need it. `""` and the coordinator's own name: serving from its start until it
 * drains, be it leader or standby. {@link leaderServiceName}: serving while it leads.
 */
export class Health {
  readonly #statuses = new Map<string, number>([
    ["", ServingStatus.SERVING],
    [serviceName, ServingStatus.SERVING],
    [leaderServiceName, ServingStatus.NOT_SERVING],
  ]);
  readonly #watchers = new Map<Watcher, string>();

  leads(isLeading: boolean): void {
    this.#set(leaderServiceName, isLeading ? ServingStatus.SERVING : ServingStatus.NOT_SERVING);
  }

  /** Serves nothing more. */
  drain(): void {
    for (const service of this.#statuses.keys()) this.#set(service, ServingStatus.NOT_SERVING);
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
    const serving = this.#statuses.get(request.service);
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
    this.#watchers.set(call, request.service);
    call.write({ status: this.#statuses.get(request.service) ?? ServingStatus.SERVICE_UNKNOWN });
  };

  /** Ends all that watch. */
  close(): void {
    for (const call of this.#watchers.keys()) call.end();
    this.#watchers.clear();
  }

  #set(service: string, serving: number): void {
    if (this.#statuses.get(service) === serving) return;
    this.#statuses.set(service, serving);
    for (const [call, watched] of this.#watchers) {
      // One that takes nothing is not written to without end.
      if (watched === service && !call.writableNeedDrain) call.write({ status: serving });
    }
  }
}
