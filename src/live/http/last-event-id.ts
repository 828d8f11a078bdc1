import { createHash } from "node:crypto";
import { Refusal } from "./failure.js";

/** The query parameter for clients that cannot send headers. */
const parameter = "lastEventId";

/** What the id of a live value says. */
export interface LiveId {
  readonly timestamp: number;
  readonly hash: string;
}

/** The id of a live value: its timestamp, and a hash that tells whether a client has the value. */
export function liveId(timestamp: number, hash: string): string {
  return `${timestamp}-${hash}`;
}

/** 66 bits of a SHA-256: two different values of one query never have the same in practice. */
export function shortHash(json: string): string {
  return createHash("sha256").update(json).digest("base64url").slice(0, 11);
}

/**
 * The id of the last live value that the client has. Undefined if it has none.
 *
 * @throws Refusal if the id is not one of a live query.
 */
export function lastLiveId(request: Request): LiveId | undefined {
  const given = lastEventId(request);
  if (given === undefined) return undefined;
  const [, digits, hash] = /^(\d{1,16})-([\w-]{11})$/.exec(given) ?? [];
  return { timestamp: timestampOf(digits), hash: hash ?? "" };
}

/**
 * The commit timestamp of the last transaction that the client has. Undefined if it has none.
 *
 * @throws Refusal if the id is not one of a feed.
 */
export function lastFeedId(request: Request): number | undefined {
  const given = lastEventId(request);
  return given === undefined ? undefined : timestampOf(/^\d{1,16}$/.exec(given)?.[0]);
}

/** The id that the client has sent. Undefined if it has none. */
export function lastEventId(request: Request): string | undefined {
  const header = request.headers.get("last-event-id");
  // An empty id is what `EventSource` has before the first one.
  return header || (new URL(request.url).searchParams.get(parameter) ?? "") || undefined;
}

function timestampOf(digits: string | undefined): number {
  const timestamp = Number(digits);
  if (Number.isSafeInteger(timestamp)) return timestamp;
  const message = `Last-Event-ID, or \`${parameter}\`, must be the id of an event of this response. Connect again without it.`;
  throw new Refusal(400, "INVALID_ARGUMENT", message);
}
