import { createHash } from "node:crypto";
import { essence, looksBinary, mediaOf, sniffContentType } from "../../text/media.js";
import { isOfTheWeb, maxUrlBytes, normalizeUrl, urlFitsKey } from "../../text/url.js";
import { maxBodyBytes, type Page, type ProblemKind, type Progress, type SourceItem } from "../page.js";
import { hasDigest, normalDigest, parseDigest } from "./digest.js";
import { excerpt } from "./head.js";
import { BodyError, decodeContent, type HttpResponse, parseResponse, unchunk } from "./http.js";
import { hasPayloadDigest } from "./payload.js";
import type { WarcRecord } from "./record.js";

/** What is known about a capture before its body is read. */
interface Capture {
  readonly record: WarcRecord;
  readonly url: string;
  readonly at: number;
  readonly digest: string | undefined;
  readonly progress: Progress;
}

/**
 * Returns the item that a record means for an index. `undefined` for requests, metadata and other
 * records about records.
 */
export async function itemOf(record: WarcRecord, progress: Progress): Promise<SourceItem | undefined> {
  const type = record.fields.get("warc-type")?.toLowerCase() ?? "";
  if (type !== "response" && type !== "revisit" && type !== "resource") return undefined;
  const target = record.fields.get("warc-target-uri")?.replace(/^<(.*)>$/, "$1") ?? "";
  const url = normalizeUrl(target);
  if (url === undefined) {
    return problem(
      "record",
      progress,
      undefined,
      `The record's WARC-Target-URI is no URL: ${excerpt(target)}`,
    );
  }
  if (!urlFitsKey(url)) {
    const message = `The URL is longer than ${maxUrlBytes} bytes: ${excerpt(url)}`;
    return problem("too long", progress, undefined, message);
  }
  const at = Date.parse(record.fields.get("warc-date") ?? "") || 0;
  const capture = { record, url, at, digest: record.fields.get("warc-payload-digest"), progress };
  if (!isOfTheWeb(url)) return skipped(capture, `not of the web, but ${url.slice(0, url.indexOf(":") + 1)}`);
  if (type === "resource") return resourceItem(capture);
  return httpItem(capture, type === "revisit");
}

function problem(
  what: ProblemKind,
  progress: Progress,
  url: string | undefined,
  message: string,
): SourceItem {
  return { kind: "problem", what, ...progress, url, message };
}

function skipped({ progress, url }: Capture, reason: string): SourceItem {
  return { kind: "skipped", ...progress, url, reason };
}

/** Statuses that mean that a page no longer exists at its URL. */
const goneStatuses: ReadonlySet<number> = new Set([301, 308, 404, 410]);

async function httpItem(capture: Capture, revisit: boolean): Promise<SourceItem> {
  const { record, url, at, progress } = capture;
  const type = essence(record.fields.get("content-type") ?? "application/http");
  if (type !== "application/http") return skipped(capture, `not HTTP, but ${excerpt(type)}`);
  const response = parseResponse(record.block);
  if (!response && !(revisit && record.length === 0)) {
    return problem("record", progress, url, "The record's block is no HTTP response");
  }
  const status = response?.status ?? 304;
  if (goneStatuses.has(status)) {
    const location = status < 400 ? response?.fields.get("location") : undefined;
    // Servers redirect a page to its own URL to set a cookie, or to ask for a user name.
    if (location !== undefined && normalizeUrl(location, url) === url)
      return skipped(capture, `HTTP status ${status}, to the same URL`);
    return { kind: "gone", ...progress, url, status: status as 301 | 308 | 404 | 410, at };
  }
  if (revisit) {
    if (status !== 200 && status !== 304) return skipped(capture, `HTTP status ${status}`);
    return revisitItem(capture, status, response);
  }
  if (!response || status !== 200) return skipped(capture, `HTTP status ${status}`);
  if (record.fields.has("warc-segment-number")) {
    return problem(
      "record",
      progress,
      url,
      "The record holds only a segment of its page; segments are not put together",
    );
  }
  return responseItem(capture, response);
}

/** Skips a revisit whose Content-Type is not text, because the page itself was skipped too. */
function revisitItem(capture: Capture, status: number, response: HttpResponse | undefined): SourceItem {
  const { record, url, at, progress } = capture;
  const declared = response?.fields.get("content-type") ?? record.fields.get("warc-identified-payload-type");
  if (declared !== undefined && !mediaOf(declared))
    return skipped(capture, `not a text, but ${excerpt(essence(declared))}`);
  const target = record.fields.get("warc-refers-to-target-uri")?.replace(/^<(.*)>$/, "$1") ?? "";
  const digest = revisitDigest(capture, status);
  const refersToAt = Date.parse(record.fields.get("warc-refers-to-date") ?? "") || undefined;
  return {
    kind: "unchanged",
    ...progress,
    url,
    digest,
    refersTo: normalizeUrl(target) ?? url,
    refersToAt,
    at,
  };
}

const nothing = Buffer.alloc(0);

/**
 * Returns the digest of a revisit. Leaves out the digest of an empty payload, which some writers
 * give a 304: it says nothing about the page.
 */
function revisitDigest({ record, digest: label }: Capture, status: number): string | undefined {
  const digest = parseDigest(label);
  const profile = record.fields.get("warc-profile") ?? "";
  const isOfServer = status === 304 || profile.includes("server-not-modified");
  return isOfServer && digest !== undefined && hasDigest(digest, nothing) ? undefined : label;
}

async function responseItem(capture: Capture, response: HttpResponse): Promise<SourceItem> {
  const { record, url, progress } = capture;
  const declared = response.fields.get("content-type");
  if (declared !== undefined && !mediaOf(declared))
    return skipped(capture, `not a text, but ${excerpt(essence(declared))}`);
  if (record.block.length < record.length) return problem("too long", progress, url, tooLong(record.length));
  try {
    const body = unchunk(response);
    if (!hasPayloadDigest(record.fields, response.payload, body)) {
      return problem("digest", progress, url, "The record's payload does not have its WARC-Payload-Digest");
    }
    const decoded = await decodeContent(body, response.fields, maxBodyBytes);
    return pageItem(capture, decoded, declared, response.payload, body);
  } catch (error) {
    if (error instanceof BodyError)
      return problem("body", progress, url, `The body cannot be read: ${error.message}`);
    throw error;
  }
}

function resourceItem(capture: Capture): SourceItem {
  const { record, url, progress } = capture;
  const declared = record.fields.get("content-type");
  if (declared !== undefined && !mediaOf(declared))
    return skipped(capture, `not a text, but ${excerpt(essence(declared))}`);
  if (record.block.length < record.length) return problem("too long", progress, url, tooLong(record.length));
  if (!hasPayloadDigest(record.fields, record.block, record.block)) {
    return problem("digest", progress, url, "The record's payload does not have its WARC-Payload-Digest");
  }
  return pageItem(capture, record.block, declared, record.block, record.block);
}

function pageItem(
  capture: Capture,
  body: Buffer,
  declared: string | undefined,
  transferred: Buffer,
  payload: Buffer,
): SourceItem {
  const { url, at, digest, progress } = capture;
  if (body.length > maxBodyBytes) return problem("too long", progress, url, tooLong(body.length));
  if (looksBinary(body, declared ?? "")) return skipped(capture, "not a text, but binary");
  const contentType = declared ?? sniffContentType(body);
  const payloadDigests = digestsOf(digest, body, transferred, payload);
  // A copy, so that a page does not keep the whole read buffer in memory.
  const copy = Uint8Array.from(body);
  return { kind: "page", ...progress, url, contentType, body: copy, digest, payloadDigests, at };
}

/**
 * Returns the digests that a later revisit may name but that the decoded body does not have. They
 * are the recorded digest, and SHA-1 and SHA-256 of the bytes from which this crawler computes
 * digests: the payload as transferred, or without its chunks.
 */
function digestsOf(
  recorded: string | undefined,
  body: Buffer,
  transferred: Buffer,
  payload: Buffer,
): Page["payloadDigests"] {
  const own = parseDigest(recorded);
  const form =
    own === undefined ? payload : [body, payload, transferred].find((bytes) => hasDigest(own, bytes));
  const digests = new Set<string>();
  const label = normalDigest(recorded);
  if (label !== undefined && (own === undefined || form !== body)) digests.add(label);
  if (form !== undefined && form !== body) {
    for (const algorithm of ["sha1", "sha256"])
      digests.add(`${algorithm}:${createHash(algorithm).update(form).digest("hex")}`);
  }
  return digests.size === 0 ? undefined : [...digests];
}

function tooLong(length: number): string {
  return `The page has ${length} bytes; at most ${maxBodyBytes} are loaded`;
}
