// Written by `npm run protos` from .proto files. Do not change it by hand.
import { Reader, Writer } from "../packages.js";

const none: readonly never[] = [];

/** `percolator.coordinator.v1.Life` */
export const Life = {
  UNKNOWN: 0,
  ALIVE: 1,
  ENDED: 2,
} as const;

/** `grpc.health.v1.HealthCheckResponse.ServingStatus` */
export const HealthCheckResponseServingStatus = {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
} as const;

/** `percolator.coordinator.v1.TimestampRequest` */
export interface TimestampRequest {
  count?: number | undefined;
}

/** `percolator.coordinator.v1.TimestampRange` */
export interface TimestampRange {
  first?: number | undefined;
  count?: number | undefined;
}

/** `percolator.coordinator.v1.SessionRequest` */
export interface SessionRequest {
  join?: Join | undefined;
  steps?: readonly Step[] | undefined;
}

/** `percolator.coordinator.v1.Join` */
export interface Join {
  session?: string | undefined;
  busy?: boolean | undefined;
  claims?: readonly Uint8Array[] | undefined;
}

/** `percolator.coordinator.v1.Step` */
export interface Step {
  claim?: Uint8Array | undefined;
  release?: Uint8Array | undefined;
  busy?: boolean | undefined;
}

/** `percolator.coordinator.v1.SessionReply` */
export interface SessionReply {
  epoch?: string | undefined;
  granted?: readonly boolean[] | undefined;
}

/** `percolator.coordinator.v1.AliveRequest` */
export interface AliveRequest {
  sessions?: readonly string[] | undefined;
}

/** `percolator.coordinator.v1.AliveReply` */
export interface AliveReply {
  lives?: readonly number[] | undefined;
}

/** `percolator.coordinator.v1.ActivityRequest` */
export type ActivityRequest = Record<string, never>;

/** `percolator.coordinator.v1.ActivityReply` */
export interface ActivityReply {
  epoch?: string | undefined;
  busyPeriods?: number | undefined;
  sessions?: readonly string[] | undefined;
  busy?: readonly string[] | undefined;
}

/** `grpc.health.v1.HealthCheckRequest` */
export interface HealthCheckRequest {
  service?: string | undefined;
}

/** `grpc.health.v1.HealthCheckResponse` */
export interface HealthCheckResponse {
  status?: number | undefined;
}

export function encodeTimestampRequest(message: TimestampRequest): Buffer {
  const w = Writer.create();
  writeTimestampRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeTimestampRange(message: TimestampRange): Buffer {
  const w = Writer.create();
  writeTimestampRange(w, message);
  return w.finish() as Buffer;
}

export function encodeSessionRequest(message: SessionRequest): Buffer {
  const w = Writer.create();
  writeSessionRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeSessionReply(message: SessionReply): Buffer {
  const w = Writer.create();
  writeSessionReply(w, message);
  return w.finish() as Buffer;
}

export function encodeAliveRequest(message: AliveRequest): Buffer {
  const w = Writer.create();
  writeAliveRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeAliveReply(message: AliveReply): Buffer {
  const w = Writer.create();
  writeAliveReply(w, message);
  return w.finish() as Buffer;
}

export function encodeActivityRequest(message: ActivityRequest): Buffer {
  const w = Writer.create();
  writeActivityRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeActivityReply(message: ActivityReply): Buffer {
  const w = Writer.create();
  writeActivityReply(w, message);
  return w.finish() as Buffer;
}

export function encodeHealthCheckRequest(message: HealthCheckRequest): Buffer {
  const w = Writer.create();
  writeHealthCheckRequest(w, message);
  return w.finish() as Buffer;
}

export function encodeHealthCheckResponse(message: HealthCheckResponse): Buffer {
  const w = Writer.create();
  writeHealthCheckResponse(w, message);
  return w.finish() as Buffer;
}

export function decodeTimestampRequest(bytes: Uint8Array): TimestampRequest {
  const r = Reader.create(bytes);
  return readTimestampRequest(r, r.len);
}

export function decodeTimestampRange(bytes: Uint8Array): TimestampRange {
  const r = Reader.create(bytes);
  return readTimestampRange(r, r.len);
}

export function decodeSessionRequest(bytes: Uint8Array): SessionRequest {
  const r = Reader.create(bytes);
  return readSessionRequest(r, r.len);
}

export function decodeSessionReply(bytes: Uint8Array): SessionReply {
  const r = Reader.create(bytes);
  return readSessionReply(r, r.len);
}

export function decodeAliveRequest(bytes: Uint8Array): AliveRequest {
  const r = Reader.create(bytes);
  return readAliveRequest(r, r.len);
}

export function decodeAliveReply(bytes: Uint8Array): AliveReply {
  const r = Reader.create(bytes);
  return readAliveReply(r, r.len);
}

export function decodeActivityRequest(bytes: Uint8Array): ActivityRequest {
  const r = Reader.create(bytes);
  return readActivityRequest(r, r.len);
}

export function decodeActivityReply(bytes: Uint8Array): ActivityReply {
  const r = Reader.create(bytes);
  return readActivityReply(r, r.len);
}

export function decodeHealthCheckRequest(bytes: Uint8Array): HealthCheckRequest {
  const r = Reader.create(bytes);
  return readHealthCheckRequest(r, r.len);
}

export function decodeHealthCheckResponse(bytes: Uint8Array): HealthCheckResponse {
  const r = Reader.create(bytes);
  return readHealthCheckResponse(r, r.len);
}

function writeTimestampRequest(w: Writer, m: TimestampRequest): void {
  if (m.count) {
    w.uint32(8).uint32(m.count);
  }
}

function writeTimestampRange(w: Writer, m: TimestampRange): void {
  if (m.first) {
    w.uint32(8).uint64(m.first);
  }
  if (m.count) {
    w.uint32(16).uint32(m.count);
  }
}

function writeSessionRequest(w: Writer, m: SessionRequest): void {
  if (m.join !== undefined) {
    w.uint32(10).fork();
    writeJoin(w, m.join);
    w.ldelim();
  }
  for (const each of m.steps ?? none) {
    w.uint32(18).fork();
    writeStep(w, each);
    w.ldelim();
  }
}

function writeJoin(w: Writer, m: Join): void {
  if (m.session) {
    w.uint32(10).string(m.session);
  }
  if (m.busy) {
    w.uint32(16).bool(m.busy);
  }
  for (const each of m.claims ?? none) {
    w.uint32(26).bytes(each);
  }
}

function writeStep(w: Writer, m: Step): void {
  if (m.claim !== undefined) {
    w.uint32(10).bytes(m.claim);
  }
  if (m.release !== undefined) {
    w.uint32(18).bytes(m.release);
  }
  if (m.busy !== undefined) {
    w.uint32(24).bool(m.busy);
  }
}

function writeSessionReply(w: Writer, m: SessionReply): void {
  if (m.epoch) {
    w.uint32(10).string(m.epoch);
  }
  if (m.granted !== undefined && m.granted.length > 0) {
    w.uint32(18).fork();
    for (const each of m.granted) w.bool(each);
    w.ldelim();
  }
}

function writeAliveRequest(w: Writer, m: AliveRequest): void {
  for (const each of m.sessions ?? none) {
    w.uint32(10).string(each);
  }
}

function writeAliveReply(w: Writer, m: AliveReply): void {
  if (m.lives !== undefined && m.lives.length > 0) {
    w.uint32(10).fork();
    for (const each of m.lives) w.int32(each);
    w.ldelim();
  }
}

function writeActivityRequest(_w: Writer, _m: ActivityRequest): void {}

function writeActivityReply(w: Writer, m: ActivityReply): void {
  if (m.epoch) {
    w.uint32(10).string(m.epoch);
  }
  if (m.busyPeriods) {
    w.uint32(16).uint64(m.busyPeriods);
  }
  for (const each of m.sessions ?? none) {
    w.uint32(26).string(each);
  }
  for (const each of m.busy ?? none) {
    w.uint32(34).string(each);
  }
}

function writeHealthCheckRequest(w: Writer, m: HealthCheckRequest): void {
  if (m.service) {
    w.uint32(10).string(m.service);
  }
}

function writeHealthCheckResponse(w: Writer, m: HealthCheckResponse): void {
  if (m.status) {
    w.uint32(8).int32(m.status);
  }
}

function readTimestampRequest(r: Reader, length: number): TimestampRequest {
  const m: TimestampRequest = { count: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.count = r.uint32();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readTimestampRange(r: Reader, length: number): TimestampRange {
  const m: TimestampRange = { first: undefined, count: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.first = Number(r.uint64());
        break;
      case 2:
        m.count = r.uint32();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readSessionRequest(r: Reader, length: number): SessionRequest {
  const m: SessionRequest = { join: undefined, steps: undefined };
  let steps: Step[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.join = readJoin(r, r.uint32());
        break;
      case 2:
        steps ??= [];
        steps.push(readStep(r, r.uint32()));
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.steps = steps;
  return m;
}

function readJoin(r: Reader, length: number): Join {
  const m: Join = { session: undefined, busy: undefined, claims: undefined };
  let claims: Uint8Array[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.session = r.string();
        break;
      case 2:
        m.busy = r.bool();
        break;
      case 3:
        claims ??= [];
        claims.push(r.bytes());
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.claims = claims;
  return m;
}

function readStep(r: Reader, length: number): Step {
  const m: Step = { claim: undefined, release: undefined, busy: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.claim = r.bytes();
        break;
      case 2:
        m.release = r.bytes();
        break;
      case 3:
        m.busy = r.bool();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readSessionReply(r: Reader, length: number): SessionReply {
  const m: SessionReply = { epoch: undefined, granted: undefined };
  let granted: boolean[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.epoch = r.string();
        break;
      case 2:
        granted ??= [];
        if ((tag & 7) === 2) {
          for (const last = r.uint32() + r.pos; r.pos < last; ) granted.push(r.bool());
        } else granted.push(r.bool());
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.granted = granted;
  return m;
}

function readAliveRequest(r: Reader, length: number): AliveRequest {
  const m: AliveRequest = { sessions: undefined };
  let sessions: string[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        sessions ??= [];
        sessions.push(r.string());
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.sessions = sessions;
  return m;
}

function readAliveReply(r: Reader, length: number): AliveReply {
  const m: AliveReply = { lives: undefined };
  let lives: number[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        lives ??= [];
        if ((tag & 7) === 2) {
          for (const last = r.uint32() + r.pos; r.pos < last; ) lives.push(r.int32());
        } else lives.push(r.int32());
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.lives = lives;
  return m;
}

function readActivityRequest(r: Reader, length: number): ActivityRequest {
  const m: ActivityRequest = {};

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readActivityReply(r: Reader, length: number): ActivityReply {
  const m: ActivityReply = { epoch: undefined, busyPeriods: undefined, sessions: undefined, busy: undefined };
  let sessions: string[] | undefined;
  let busy: string[] | undefined;
  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.epoch = r.string();
        break;
      case 2:
        m.busyPeriods = Number(r.uint64());
        break;
      case 3:
        sessions ??= [];
        sessions.push(r.string());
        break;
      case 4:
        busy ??= [];
        busy.push(r.string());
        break;
      default:
        r.skipType(tag & 7);
    }
  }
  m.sessions = sessions;
  m.busy = busy;
  return m;
}

function readHealthCheckRequest(r: Reader, length: number): HealthCheckRequest {
  const m: HealthCheckRequest = { service: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.service = r.string();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}

function readHealthCheckResponse(r: Reader, length: number): HealthCheckResponse {
  const m: HealthCheckResponse = { status: undefined };

  for (const end = r.pos + length; r.pos < end; ) {
    const tag = r.uint32();
    switch (tag >>> 3) {
      case 1:
        m.status = r.int32();
        break;
      default:
        r.skipType(tag & 7);
    }
  }

  return m;
}
