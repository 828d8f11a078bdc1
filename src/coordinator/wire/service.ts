import type { MethodDefinition } from "@grpc/grpc-js";
import type { TimestampRange } from "../../oracle/index.js";
import type { Codec, Received } from "./message-codec.js";
import {
  type ActivityReply,
  activityReply,
  activityRequest,
  aliveReply,
  aliveRequest,
  type HealthRequest,
  type HealthResponse,
  healthRequest,
  healthResponse,
  type Nothing,
  type SessionReply,
  type SessionRequest,
  sessionReply,
  sessionRequest,
  timestampRange,
  timestampRequest,
} from "./messages.js";
import { serviceName } from "./service-names.js";

/** A method of a service. Either side may receive an invalid message. */
export type Method<Request, Reply> = MethodDefinition<Received<Request>, Received<Reply>>;

const healthName = "grpc.health.v1.Health";

interface Streams {
  readonly requestStream?: boolean;
  readonly responseStream?: boolean;
}

function method<Request, Reply>(
  path: string,
  request: Codec<Request>,
  reply: Codec<Reply>,
  { requestStream = false, responseStream = false }: Streams = {},
): Method<Request, Reply> {
  return {
    path,
    requestStream,
    responseStream,
    // Only received messages can be invalid, so the casts are safe.
    requestSerialize: (message) => request.encode(message as Request),
    requestDeserialize: (bytes) => request.decode(bytes),
    responseSerialize: (message) => reply.encode(message as Reply),
    responseDeserialize: (bytes) => reply.decode(bytes),
  };
}

const path = (name: string) => `/${serviceName}/${name}`;
const both = { requestStream: true, responseStream: true };

/** The coordinator's service. */
export const coordinatorService = {
  timestamps: method<number, TimestampRange>(path("Timestamps"), timestampRequest, timestampRange, both),
  session: method<SessionRequest, SessionReply>(path("Session"), sessionRequest, sessionReply, both),
  alive: method<readonly string[], readonly (boolean | undefined)[]>(path("Alive"), aliveRequest, aliveReply),
  activity: method<Nothing, ActivityReply>(path("Activity"), activityRequest, activityReply),
};

/** gRPC's own health service. */
export const healthService = {
  check: method<HealthRequest, HealthResponse>(`/${healthName}/Check`, healthRequest, healthResponse),
  watch: method<HealthRequest, HealthResponse>(`/${healthName}/Watch`, healthRequest, healthResponse, {
    responseStream: true,
  }),
};
