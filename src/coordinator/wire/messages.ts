import { lastTimestamp, type TimestampRange } from "../../oracle/index.js";
import { coordinatorLimits as limits } from "../limits.js";
import * as wire from "../protos/codec.js";
import { brokenMessage, bytesOf, listOf, textOf, wholeIn } from "./message-check.js";
import { codec } from "./message-codec.js";

/** The first message of a session: the claims that it holds, and whether it is busy. */
export interface Join {
  readonly session: string;
  readonly busy: boolean;
  readonly claims: readonly Uint8Array[];
}

/** One change of a session. */
export type Step =
  | { readonly type: "claim"; readonly key: Uint8Array }
  | { readonly type: "release"; readonly key: Uint8Array }
  | { readonly type: "busy" }
  | { readonly type: "quiet" };

export interface SessionRequest {
  readonly join: Join | undefined;
  readonly steps: readonly Step[];
}

export interface SessionReply {
  readonly epoch: string | undefined;
  readonly granted: readonly boolean[];
}

export interface ActivityReply {
  readonly epoch: string;
  readonly busyPeriods: number;
  readonly sessions: readonly string[];
  readonly busy: readonly string[];
}

// The messages of the health service are objects, although each has only one value. That value may
// be empty or zero, and gRPC treats an empty or zero value as a missing message.

export interface HealthRequest {
  /** "" stands for the whole process. */
  readonly service: string;
}

export interface HealthResponse {
  readonly status: number;
}

/** A message without content. */
export type Nothing = Readonly<Record<string, never>>;
export const nothing: Nothing = Object.freeze({});

export const timestampRequest = codec(
  wire.encodeTimestampRequest,
  wire.decodeTimestampRequest,
  (count: number) => ({ count }),
  ({ count }) => wholeIn("a number of timestamps", count, 1, limits.timestamps),
);

export const timestampRange = codec(
  wire.encodeTimestampRange,
  wire.decodeTimestampRange,
  ({ first, count }: TimestampRange) => ({ first, count }),
  ({ first, count }) => ({
    first: wholeIn("a timestamp", first, 1, lastTimestamp),
    count: wholeIn("a number of timestamps", count, 1, limits.timestamps),
  }),
);

export const sessionRequest = codec(
  wire.encodeSessionRequest,
  wire.decodeSessionRequest,
  ({ join, steps }: SessionRequest) => ({
    join: join,
    steps: steps.map(stepToWire),
  }),
  ({ join, steps }) => ({
    join: join === undefined ? undefined : joinFromWire(join),
    steps: listOf("the steps", steps, limits.steps).map(stepFromWire),
  }),
);

export const sessionReply = codec(
  wire.encodeSessionReply,
  wire.decodeSessionReply,
  ({ epoch, granted }: SessionReply) => ({ epoch: epoch ?? "", granted: [...granted] }),
  ({ epoch, granted }) => ({
    epoch: epoch ? textOf("an epoch", epoch, 1_000) : undefined,
    granted: listOf("the answers", granted, limits.steps),
  }),
);

export const aliveRequest = codec(
  wire.encodeAliveRequest,
  wire.decodeAliveRequest,
  (sessions: readonly string[]) => ({ sessions: [...sessions] }),
  ({ sessions }) => listOf("the sessions", sessions, limits.asked).map(sessionName),
);

export const aliveReply = codec(
  wire.encodeAliveReply,
  wire.decodeAliveReply,
  (lives: readonly (boolean | undefined)[]) => ({ lives: lives.map(lifeToWire) }),
  ({ lives }) => listOf("the answers", lives, limits.asked).map(lifeFromWire),
);

export const activityRequest = codec(
  wire.encodeActivityRequest,
  wire.decodeActivityRequest,
  (_: Nothing) => ({}),
  () => nothing,
);

export const activityReply = codec(
  wire.encodeActivityReply,
  wire.decodeActivityReply,
  (reply: ActivityReply) => ({ ...reply, sessions: [...reply.sessions], busy: [...reply.busy] }),
  ({ epoch, busyPeriods, sessions, busy }): ActivityReply => ({
    epoch: textOf("an epoch", epoch, 1_000),
    busyPeriods: wholeIn("a number of busy periods", busyPeriods, 0, Number.MAX_SAFE_INTEGER),
    sessions: listOf("the sessions", sessions, limits.sessions).map(sessionName),
    busy: listOf("the busy sessions", busy, limits.sessions).map(sessionName),
  }),
);

/** Statuses of the health service, with the numbers of gRPC. */
export const ServingStatus = wire.HealthCheckResponseServingStatus;

export const healthRequest = codec(
  wire.encodeHealthCheckRequest,
  wire.decodeHealthCheckRequest,
  ({ service }: HealthRequest) => ({ service }),
  ({ service }): HealthRequest => ({
    service: service ? textOf("the name of a service", service, limits.serviceName) : "",
  }),
);

export const healthResponse = codec(
  wire.encodeHealthCheckResponse,
  wire.decodeHealthCheckResponse,
  ({ status }: HealthResponse) => ({ status }),
  ({ status }) => ({ status: wholeIn("a serving status", status, 0, 3) }),
);

function sessionName(name: string): string {
  return textOf("the name of a session", name, limits.sessionName);
}

function claimKey(key: Uint8Array | undefined): Uint8Array {
  return bytesOf("a claim", key, limits.claimBytes);
}

function joinFromWire(join: wire.Join): Join {
  return {
    session: sessionName(join.session ?? ""),
    busy: join.busy ?? false,
    claims: listOf("the claims", join.claims, limits.claimsOfSession).map(claimKey),
  };
}

function stepToWire(step: Step): wire.Step {
  if (step.type === "claim") return { claim: step.key };
  if (step.type === "release") return { release: step.key };
  return { busy: step.type === "busy" };
}

function stepFromWire(step: wire.Step): Step {
  if (step.claim !== undefined) return { type: "claim", key: claimKey(step.claim) };
  if (step.release !== undefined) return { type: "release", key: claimKey(step.release) };
  if (typeof step.busy === "boolean") return { type: step.busy ? "busy" : "quiet" };
  throw brokenMessage("a step is empty");
}

const { Life } = wire;

function lifeToWire(alive: boolean | undefined): number {
  if (alive === undefined) return Life.UNKNOWN;
  return alive ? Life.ALIVE : Life.ENDED;
}

function lifeFromWire(life: number): boolean | undefined {
  if (life === Life.ALIVE) return true;
  return life === Life.ENDED ? false : undefined;
}
