import type { ServerHttp2Stream } from "node:http2";
import type {
  ServerInterceptingCallInterface,
  ServerInterceptor,
  ServerListener,
  ServerMethodDefinition,
} from "@grpc/grpc-js";
import { LimitExceededError } from "../../errors/index.js";
import { ServerInterceptingCall } from "../packages.js";
import type { Admission } from "../security/admission.js";
import { refusalOf } from "../wire/call-status.js";
import { healthService } from "../wire/service.js";

/** Probes whose message has not arrived. A probe sends it with the call, so few of them wait. */
const maxWaiting = 16;

const healthPaths: ReadonlySet<string> = new Set(Object.values(healthService).map(({ path }) => path));

/**
 * Decides about calls by their headers. gRPC keeps a message of up to `limits.requestBytes` in memory
 * for each call, so a client without the token must be refused before it sends one.
 */
export class Gate {
  readonly interceptor: ServerInterceptor;
  readonly #admission: Admission;
  /** Calls of the health service, which asks for no token, oldest first. */
  readonly #waiting = new Set<ServerInterceptingCallInterface>();

  constructor(admission: Admission) {
    this.#admission = admission;
    this.interceptor = (method: ServerMethodDefinition<unknown, unknown>, call) => {
      const listener = healthPaths.has(method.path) ? this.#probe(call) : this.#admitted(call);
      return new ServerInterceptingCall(call, { start: (next) => next(listener) });
    };
  }

  #admitted(call: ServerInterceptingCallInterface): ServerListener {
    return {
      onReceiveMetadata: (metadata, next) => {
        try {
          this.#admission.check(metadata);
        } catch (error) {
          call.sendStatus(refusalOf(error));
          return;
        }
        next(metadata);
      },
    };
  }

  /** If too many probes wait, refuses the oldest one. */
  #probe(call: ServerInterceptingCallInterface): ServerListener {
    return {
      onReceiveMetadata: (metadata, next) => {
        this.#waiting.add(call);
        const [oldest] = this.#waiting;
        if (this.#waiting.size > maxWaiting) {
          this.#waiting.delete(oldest!);
          end(oldest!, new LimitExceededError("Other probes came before this one's message."));
        }
        next(metadata);
      },
      onReceiveMessage: (message, next) => {
        this.#waiting.delete(call);
        next(message);
      },
      onCancel: () => this.#waiting.delete(call),
    };
  }
}

/**
 * Refuses a call of which a part of the message may be in memory. gRPC keeps that part until the
 * client ends its side too, so the stream is closed. gRPC has no public name for it.
 */
function end(call: ServerInterceptingCallInterface, reason: unknown): void {
  call.sendStatus(refusalOf(reason));
  const { stream } = call as { readonly stream?: ServerHttp2Stream | undefined };
  stream?.close();
}
