import { checkOptionNames, InvalidValueError, SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { asBuffer } from "../utf8.js";
import { buildCodec, type Codec, checkValueBytes, unreadableError } from "./codec.js";
import { adoptCodec } from "./custom.js";

/** The options of {@link compressed}. */
export interface CompressedOptions {
  /**
   * A value of fewer bytes is stored as it is. An integer from 1. Default: 256: shorter values
   * become at most a little shorter, and compressing one takes 15 µs.
   */
  readonly minBytes?: number | undefined;
  /**
   * How much work to spend: an integer from 1, the fastest, to 9, the smallest. Every level is read
   * by every program. Default: 3.
   */
  readonly level?: number | undefined;
}

/** Node's `zlib`, loaded at the first value that needs it: see `environment/crypto.ts`. */
const zlib = () => process.getBuiltinModule("node:zlib");

const defaultMinBytes = 256;
const defaultLevel = 3;

/*
 * The stored bytes of a value begin with a marker only if they must:
 *
 * | first byte | what follows |
 * | --- | --- |
 * | FF | the value's length in four bytes, most significant first; its bytes in raw DEFLATE |
 * | FE | the value's bytes, which begin with FC, FD, FE or FF themselves |
 * | FC, FD | reserved for other algorithms |
 * | any other, or none | it belongs to the value itself, which is stored as it is |
 *
 * No UTF-8 begins with a marker. So a column of text or JSON can become compressed: its earlier
 * values stay readable.
 */
const firstMarker = 0xfc;
const plainMarker = 0xfe;
const deflatedMarker = 0xff;
const headBytes = 5;

/** The tags of codecs whose stored values all are UTF-8. */
const utf8Tags: ReadonlySet<string> = new Set(["text", "json", "oneOf"]);

const tagPattern = /^compressed\((.*)\)$/s;

/**
 * Stores the values of another codec compressed (DEFLATE), if they have at least 256 bytes and
 * become shorter. Reads and writes stay the same, on every store. HTML shrinks to a fifth, and takes
 * 6 µs of processor time a kilobyte to write and 2 µs to read. A value may have 10 MB before it is
 * compressed.
 *
 * Use it for long values that repeat themselves: pages, documents, lists. Images, archives and
 * other compressed data do not shrink. A compressed column cannot be a part of a key.
 *
 * A recorded column of `text()`, `json()` or `oneOf()` can become compressed: stored values are read
 * as before, and are compressed when they are written again. Programs that still declare the column
 * without `compressed` can no longer open the database, and cannot read compressed values. Stop them
 * first. A column of another codec cannot become compressed, because some of its values could be
 * taken for compressed ones: `open` throws a `SchemaError`. Declare a new column instead.
 *
 * The options are not recorded. A command without the program's module uses the defaults.
 *
 * @throws SchemaError if the codec is compressed already, or for an invalid option.
 * @throws InvalidValueError from reads if the stored bytes are damaged, or if they would become
 * longer than 10 MB.
 *
 * @example
 * const pages = table("pages", {
 *   html: compressed(text()),
 *   links: compressed(json<string[]>(), { minBytes: 1_000 }),
 *   notes: family(compressed(text())),
 * });
 */
export function compressed<V, I = V>(codec: Codec<V, I>, options: CompressedOptions = {}): Codec<V, I> {
  if (typeof codec?.encode !== "function" || typeof codec.decode !== "function") {
    throw new SchemaError(`compressed() takes a codec such as text(), not ${describeValue(codec)}`);
  }
  const inner = adoptCodec(codec as unknown as Codec<unknown>);
  if (tagPattern.test(inner.tag))
    throw new SchemaError("compressed() takes a codec that is not compressed yet");
  checkOptionNames("compressed()", options, { minBytes: true, level: true });
  const minBytes = checkInteger("minBytes", options.minBytes ?? defaultMinBytes, limits.valueBytes);
  const level = checkInteger("level", options.level ?? defaultLevel, 9);
  const decodeInner = inner.decodeRange!;
  const { decodesInPlace, hasSchema, versions } = inner;
  return buildCodec<unknown, string>(
    compressedTag(inner.tag),
    (value) => pack(inner.encode(value), minBytes, level),
    (buffer, start, end) => {
      const marker = start < end ? buffer[start]! : 0;
      if (marker < firstMarker) return decodeInner(buffer, start, end);
      if (marker === plainMarker) return decodeInner(buffer, start + 1, end);
      const plain = inflate(buffer, start, end);
      return decodeInner(plain, 0, plain.length);
    },
    { decodesInPlace, hasSchema, versions },
  ) as unknown as Codec<V, I>;
}

/** The tag of a compressed codec, from the tag of the codec of its values. */
export function compressedTag(tag: string): string {
  return `compressed(${tag})`;
}

/** The tag of the inner codec, if `tag` is that of a compressed codec. Otherwise `tag` itself. */
export function valueTag(tag: string): string {
  return tagPattern.exec(tag)?.[1] ?? tag;
}

export function isCompressedTag(tag: string): boolean {
  return tagPattern.test(tag);
}

/**
 * Whether a column of the codec `before` may become one of the codec `after`, because `after` reads
 * all values that `before` has written.
 */
export function mayBecome(before: string, after: string): boolean {
  return utf8Tags.has(before) && after === compressedTag(before);
}

/**
 * The bytes of a value before they were compressed, from the stored bytes of a compressed column.
 *
 * @throws InvalidValueError if the stored bytes are damaged.
 */
export function inflated(stored: Uint8Array): Uint8Array {
  const marker = stored[0] ?? 0;
  if (marker < firstMarker) return stored;
  return marker === plainMarker ? stored.subarray(1) : inflate(asBuffer(stored), 0, stored.length);
}

function checkInteger(name: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new SchemaError(
    `compressed(): ${name} must be an integer from 1 to ${most}, not ${describeValue(value)}`,
  );
}

function pack(plain: Uint8Array, minBytes: number, level: number): Uint8Array {
  if (plain.length >= minBytes) {
    const deflated = deflate(plain, level);
    if (headBytes + deflated.length < plain.length) {
      const stored = Buffer.allocUnsafe(headBytes + deflated.length);
      stored[0] = deflatedMarker;
      stored.writeUInt32BE(plain.length, 1);
      stored.set(deflated, headBytes);
      return stored;
    }
  }
  if ((plain[0] ?? 0) < firstMarker) return plain;
  checkValueBytes(plain.length + 1);
  const stored = Buffer.allocUnsafe(1 + plain.length);
  stored[0] = plainMarker;
  stored.set(plain, 1);
  return stored;
}

/**
 * The window is as small as the value allows. zlib prepares memory in proportion to it, which takes
 * as long as compressing a short value.
 */
function deflate(plain: Uint8Array, level: number): Buffer {
  const windowBits = Math.min(15, Math.max(9, 32 - Math.clz32(plain.length - 1)));
  const chunkSize = Math.max(64, (plain.length >> 1) + 64);
  return zlib().deflateRawSync(plain, {
    level,
    windowBits,
    memLevel: windowBits === 15 ? 8 : windowBits - 6,
    chunkSize,
  });
}

/** Inflates `buffer[start..end)`, which begins with a marker. Never makes more bytes than it says. */
function inflate(buffer: Buffer, start: number, end: number): Buffer {
  const length = end - start > headBytes ? buffer.readUInt32BE(start + 1) : 0;
  const isSound = buffer[start] === deflatedMarker && length > 0 && length <= limits.valueBytes;
  if (!isSound) throw unreadableError("a compressed value", start, end);
  let plain: Buffer;
  try {
    // One more byte than needed, so that zlib does not begin another chunk.
    const chunkSize = Math.max(64, length + 1);
    plain = zlib().inflateRawSync(buffer.subarray(start + headBytes, end), {
      chunkSize,
      maxOutputLength: length,
    });
  } catch (cause) {
    throw new InvalidValueError(unreadableError("a compressed value", start, end).message, { cause });
  }
  if (plain.length !== length) throw unreadableError("a compressed value", start, end);
  return plain;
}
