import { essence, looksBinary, mediaOf, sniffContentType } from "../../text/media.js";
import { longestUrlBytes, normalizeUrl, urlFitsKey } from "../../text/url.js";
import { longestBodyBytes, type Progress, type SourceItem } from "../page.js";
import { hasDigest, parseDigest } from "./digest.js";
import { excerpt, type Fields } from "./head.js";
import { BodyError, decodeContent, type HttpResponse, parseResponse, unchunk } from "./http.js";
import type { WarcRecord } from "./record.js";

/** What is known of a capture before its body is looked at. */
interface Capture {
  readonly record: WarcRecord;
  readonly url: string;
  readonly at: number;
  readonly digest: string | undefined;
  readonly progress: Progress;
}

/** What a record means for an index: `undefined` for requests, metadata and other records about records. */
export async function itemOf(record: WarcRecord, progress: Progress): Promise<SourceItem | undefined> {
  const type = record.fields.get("warc-type")?.toLowerCase() ?? "";
  if (type !== "response" && type !== "revisit" && type !== "resource") return undefined;
  const target = record.fields.get("warc-target-uri")?.replace(/^<(.*)>$/, "$1") ?? "";
  const url = normalizeUrl(target);
  if (url === undefined) {
    return problem(progress, undefined, `The record's WARC-Target-URI is no URL: ${excerpt(target)}`);
  }
  if (!urlFitsKey(url)) {
    const message = `The URL is longer than ${longestUrlBytes} bytes: ${excerpt(url)}`;
    return problem(progress, undefined, message);
  }
  const at = Date.parse(record.fields.get("warc-date") ?? "") || 0;
  const capture = { record, url, at, digest: record.fields.get("warc-payload-digest"), progress };
  if (type === "resource") return resourceItem(capture);
  return httpItem(capture, type === "revisit");
}

function problem(progress: Progress, url: string | undefined, message: string): SourceItem {
  return { kind: "problem", ...progress, url, message };
}

function skipped({ progress, url }: Capture, reason: string): SourceItem {
  return { kind: "skipped", ...progress, url, reason };
}

async function httpItem(capture: Capture, revisit: boolean): Promise<SourceItem> {
  const { record, url, at, digest, progress } = capture;
  const type = essence(record.fields.get("content-type") ?? "application/http");
  if (type !== "application/http") return skipped(capture, `not HTTP, but ${excerpt(type)}`);
  const response = parseResponse(record.block);
  if (!response && !(revisit && record.length === 0)) {
    return problem(progress, url, "The record's block is no HTTP response");
  }
  const status = response?.status ?? 304;
  if (status === 404 || status === 410) return { kind: "gone", ...progress, url, status, at };
  if (revisit) {
    if (status !== 200 && status !== 304) return skipped(capture, `HTTP status ${status}`);
    const refersTo = normalizeUrl(record.fields.get("warc-refers-to-target-uri") ?? "") ?? url;
    return { kind: "unchanged", ...progress, url, digest, refersTo, at };
  }
  if (!response || status !== 200) return skipped(capture, `HTTP status ${status}`);
  if (record.fields.has("warc-segment-number")) {
    return problem(
      progress,
      url,
      "The record holds only a segment of its page; segments are not put together",
    );
  }
  return responseItem(capture, response);
}

async function responseItem(capture: Capture, response: HttpResponse): Promise<SourceItem> {
  const { record, url, progress } = capture;
  const declared = response.fields.get("content-type");
  if (declared !== undefined && !mediaOf(declared))
    return skipped(capture, `not a text, but ${excerpt(essence(declared))}`);
  if (record.block.length < record.length) return problem(progress, url, tooLong(record.length));
  try {
    const body = unchunk(response);
    if (!hasPayloadDigest(record.fields, response.payload, body)) {
      return problem(progress, url, "The record's payload does not have its WARC-Payload-Digest");
    }
    return pageItem(capture, await decodeContent(body, response.fields, longestBodyBytes), declared);
  } catch (error) {
    if (error instanceof BodyError)
      return problem(progress, url, `The body cannot be read: ${error.message}`);
    throw error;
  }
}

function resourceItem(capture: Capture): SourceItem {
  const { record, url, progress } = capture;
  const declared = record.fields.get("content-type");
  if (declared !== undefined && !mediaOf(declared))
    return skipped(capture, `not a text, but ${excerpt(essence(declared))}`);
  if (record.block.length < record.length) return problem(progress, url, tooLong(record.length));
  if (!hasPayloadDigest(record.fields, record.block, record.block)) {
    return problem(progress, url, "The record's payload does not have its WARC-Payload-Digest");
  }
  return pageItem(capture, record.block, declared);
}

function pageItem(capture: Capture, body: Buffer, declared: string | undefined): SourceItem {
  const { url, at, digest, progress } = capture;
  if (body.length > longestBodyBytes) return problem(progress, url, tooLong(body.length));
  if (looksBinary(body, declared ?? "")) return skipped(capture, "not a text, but binary");
  const contentType = declared ?? sniffContentType(body);
  // A copy, so that a page does not keep the buffer that it was read in.
  return { kind: "page", ...progress, url, contentType, body: Uint8Array.from(body), digest, at };
}

function tooLong(length: number): string {
  return `The page has ${length} bytes; at most ${longestBodyBytes} are loaded`;
}

/** Crawlers disagree whether the digest is of the payload as transferred or without its chunks: either will do. */
function hasPayloadDigest(fields: Fields, transferred: Buffer, body: Buffer): boolean {
  const digest = parseDigest(fields.get("warc-payload-digest"));
  if (!digest || hasDigest(digest, body)) return true;
  return body !== transferred && hasDigest(digest, transferred);
}
