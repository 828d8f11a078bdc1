/** Checks that confirm a record besides its block digest. */
import { hasDigest, parseDigest } from "./digest.js";
import type { Fields } from "./head.js";
import { BodyError, parseResponse, unchunk } from "./http.js";

/**
 * Crawlers disagree on whether the digest is of the payload as transferred or without its chunks.
 * Either is accepted.
 */
export function hasPayloadDigest(fields: Fields, transferred: Buffer, body: Buffer): boolean {
  const digest = parseDigest(fields.get("warc-payload-digest"));
  if (!digest || hasDigest(digest, body)) return true;
  return body !== transferred && hasDigest(digest, transferred);
}

/**
 * Whether the payload confirms that its block is complete: by its WARC-Payload-Digest, or, if there
 * is no digest at all, by its HTTP Content-Length. False for a revisit, whose payload is not in the
 * record.
 */
export function payloadVouches(fields: Fields, block: Buffer): boolean {
  const type = fields.get("warc-type")?.toLowerCase();
  const digest = parseDigest(fields.get("warc-payload-digest"));
  if (type === "resource") return digest !== undefined && hasDigest(digest, block);
  const response = type === "response" ? parseResponse(block) : undefined;
  if (response === undefined) return false;
  const { payload } = response;
  if (digest !== undefined) return hasPayloadDigest(fields, payload, unchunked(response));
  const said = response.fields.get("content-length");
  const isBare = !fields.has("warc-block-digest") && !fields.has("warc-payload-digest");
  return isBare && !response.fields.has("transfer-encoding") && said === String(payload.length);
}

function unchunked(response: Parameters<typeof unchunk>[0]): Buffer {
  try {
    return unchunk(response);
  } catch (error) {
    if (error instanceof BodyError) return response.payload;
    throw error;
  }
}
