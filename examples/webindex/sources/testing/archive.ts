/** Makes web archives for tests: sound ones, and ones with every kind of damage. */

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { base32 } from "../warc/digest.js";

export interface RecordParts {
  readonly type?: string;
  readonly url?: string;
  readonly block?: Buffer | string;
  /** Replaces or adds fields. `undefined` removes a field. */
  readonly fields?: { readonly [name: string]: string | undefined };
  readonly lineEnd?: "\r\n" | "\n";
}

export function sha1(bytes: Buffer | string): string {
  return `sha1:${base32(createHash("sha1").update(bytes).digest())}`;
}

/** Returns one record, with the two line ends that close it. */
export function warcRecord({
  type = "response",
  url,
  block = "",
  fields = {},
  lineEnd = "\r\n",
}: RecordParts): Buffer {
  const bytes = Buffer.from(block);
  const all: { [name: string]: string | undefined } = {
    "WARC-Type": type,
    "WARC-Target-URI": url,
    "WARC-Date": "2024-01-02T03:04:05Z",
    "WARC-Record-ID": "<urn:uuid:00000000-0000-4000-8000-000000000000>",
    "Content-Type": type === "warcinfo" ? "application/warc-fields" : "application/http; msgtype=response",
    "Content-Length": String(bytes.length),
    "WARC-Block-Digest": sha1(bytes),
    ...fields,
  };
  const named = Object.entries(all).filter(([, value]) => value !== undefined);
  const head = ["WARC/1.1", ...named.map(([name, value]) => `${name}: ${value}`), "", ""].join(lineEnd);
  return Buffer.concat([Buffer.from(head), bytes, Buffer.from(lineEnd + lineEnd)]);
}

/** Returns an HTTP response as the block of a record. */
export function http(
  body: Buffer | string,
  headers: { readonly [name: string]: string } = {},
  status = 200,
): Buffer {
  const lines = Object.entries({ "Content-Type": "text/html", ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return Buffer.concat([
    Buffer.from([`HTTP/1.1 ${status} Status`, ...lines, "", ""].join("\r\n")),
    Buffer.from(body),
  ]);
}

/** Returns a page as a response record, with both digests. */
export function page(url: string, body: Buffer | string, more: Partial<RecordParts> = {}): Buffer {
  const fields = { "WARC-Payload-Digest": sha1(body), ...more.fields };
  return warcRecord({ url, block: http(body), ...more, fields });
}

/**
 * Returns `count` pages, `https://example.org/0` and so on, of about `bytes` bytes each. They
 * barely compress.
 */
export function pages(count: number, bytes = 500): Buffer[] {
  return Array.from({ length: count }, (_, index) =>
    page(pageUrl(index), `<title>${index}</title>${noise(index, bytes)}`),
  );
}

export function pageUrl(index: number): string {
  return `https://example.org/${index}`;
}

/** Returns text that depends only on `seed` and does not compress much. */
export function noise(seed: number, bytes: number): string {
  const parts: string[] = [];
  for (let length = 0, at = 0; length < bytes; length += 64, at++) {
    parts.push(createHash("sha256").update(`${seed} ${at}`).digest("hex"));
  }
  return parts.join("").slice(0, bytes);
}

/** One gzip member for each record, as the standard requires. */
export function gzipEach(records: readonly Buffer[]): Buffer {
  return Buffer.concat(records.map((record) => gzipSync(record)));
}

/** All records in one gzip member. */
export function gzipWhole(records: readonly Buffer[]): Buffer {
  return gzipSync(Buffer.concat(records));
}

/** Members of `bytes` bytes each, regardless of where records begin. */
export function gzipBlocks(records: readonly Buffer[], bytes: number): Buffer {
  const all = Buffer.concat(records);
  const blocks: Buffer[] = [];
  for (let at = 0; at < all.length; at += bytes) blocks.push(gzipSync(all.subarray(at, at + bytes)));
  return Buffer.concat(blocks);
}
