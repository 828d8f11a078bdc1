import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { excerpt, type Fields, headLength, maxHeadBytes, parseHead } from "./head.js";

export interface HttpResponse {
  readonly status: number;
  readonly fields: Fields;
  /** The bytes after the header, as transferred. */
  readonly payload: Buffer;
}

/** Parses the response in a block. Returns `undefined` if the block is not a response. */
export function parseResponse(block: Buffer): HttpResponse | undefined {
  const length = headLength(block.subarray(0, maxHeadBytes));
  if (length < 0 && block.length > maxHeadBytes) return undefined;
  const head = parseHead(length < 0 ? block : block.subarray(0, length));
  const status = /^HTTP\/\d(?:\.\d)?[ \t]+(\d{3})(?:[ \t]|$)/.exec(head.first)?.[1];
  if (status === undefined) return undefined;
  return {
    status: Number(status),
    fields: head.fields,
    payload: length < 0 ? Buffer.alloc(0) : block.subarray(length),
  };
}

/** The body cannot be decoded from the transferred bytes. */
export class BodyError extends Error {}

/**
 * Removes `Transfer-Encoding: chunked` from the payload, and trailers. Many crawlers store the
 * decoded body but keep the header, so a payload that does not begin with a chunk is returned
 * unchanged.
 */
export function unchunk(response: HttpResponse): Buffer {
  const { payload } = response;
  const codings = list(response.fields.get("transfer-encoding"));
  if (!codings.includes("chunked") || chunkAt(payload, 0) === undefined) return payload;
  // One buffer, because a payload may have millions of chunks.
  const body = Buffer.allocUnsafe(payload.length);
  let length = 0;
  for (let at = 0; ; ) {
    const chunk = chunkAt(payload, at);
    if (!chunk) throw new BodyError(`its chunked encoding breaks off at byte ${at} of ${payload.length}`);
    if (chunk.size === 0) return body.subarray(0, length);
    const end = chunk.begin + chunk.size;
    if (end > payload.length) throw new BodyError(`its chunk at byte ${at} is longer than what follows`);
    length += payload.copy(body, length, chunk.begin, end);
    at = end;
    if (payload[at] === 13) at++;
    if (payload[at] === 10) at++;
  }
}

function chunkAt(payload: Buffer, at: number): { begin: number; size: number } | undefined {
  const line = payload.subarray(at, at + 4096);
  const end = line.indexOf(10);
  const match = /^([0-9a-f]{1,13})[ \t]*(?:;[^\n]*)?\r?$/i.exec(
    line.subarray(0, Math.max(0, end)).toString("latin1"),
  );
  return match && end >= 0 ? { begin: at + end + 1, size: Number.parseInt(match[1]!, 16) } : undefined;
}

type Decoder = (body: Buffer, options: zlib.ZlibOptions & zlib.BrotliOptions) => Promise<Buffer>;

const gunzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip);
const inflate = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflate);
const inflateRaw = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflateRaw);
const brotli = promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress);

// As with chunks, a body that was stored decoded but kept its header is returned unchanged.
const isGzip = (body: Buffer) => body[0] === 0x1f && body[1] === 0x8b;
const isZlib = (body: Buffer) =>
  (body[0]! & 0x0f) === 8 && body.length > 1 && body.readUInt16BE(0) % 31 === 0;
const gzipDecoder: Decoder = async (body, options) => (isGzip(body) ? gunzip(body, options) : body);
const deflateDecoder: Decoder = (body, options) => (isZlib(body) ? inflate : inflateRaw)(body, options);

const decoders = new Map<string, Decoder>([
  ["gzip", gzipDecoder],
  ["x-gzip", gzipDecoder],
  ["deflate", deflateDecoder],
  ["br", brotli],
  ["identity", async (body) => body],
]);

/** Decodes the Content-Encoding of `body`. Never returns more than `longest` bytes. */
export async function decodeContent(body: Buffer, fields: Fields, longest: number): Promise<Buffer> {
  let decoded = body;
  for (const coding of list(fields.get("content-encoding")).reverse()) {
    const decoder = decoders.get(coding);
    if (!decoder) throw new BodyError(`its Content-Encoding ${excerpt(coding)} is not known`);
    if (decoded.length === 0) return decoded;
    decoded = await decoder(decoded, { maxOutputLength: longest }).catch((error: NodeJS.ErrnoException) => {
      const tooLong = error.code === "ERR_BUFFER_TOO_LARGE";
      const why = tooLong ? `inflates to more than ${longest} bytes` : `cannot be decoded (${error.message})`;
      throw new BodyError(`its Content-Encoding ${coding} ${why}`);
    });
  }
  return decoded;
}

function list(value: string | undefined): string[] {
  return (value ?? "")
    .toLowerCase()
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
