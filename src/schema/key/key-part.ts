import { limits } from "../limits.js";
import { isBytes } from "../transferred.js";
import { decodeUtf8, isWellFormed } from "../utf8.js";
import type { KeyPartTag } from "../value/codec.js";
import {
  floatBytes,
  intBytes,
  intLength,
  readInt,
  readSortableFloat,
  writeInt,
  writeSortableFloat,
} from "../value/number.js";

/** Reads the parts of a key, one after another. */
export interface KeyCursor {
  readonly buffer: Buffer;
  at: number;
  readonly end: number;
}

/** How a composite key encodes the values of one codec. */
export interface KeyPartForm {
  /** The values that it accepts, in words for messages. */
  readonly expected: string;
  /** An example value in TypeScript, for messages. */
  readonly example: string;
  accepts(value: unknown): boolean;
  /**
   * Writes an accepted value at `at`, in at most {@link partBytes} bytes. Returns the position
   * after it.
   */
  write(value: never, out: Buffer, at: number): number;
  /** The next part. Undefined if {@link KeyPartForm.write} never writes these bytes. */
  read(cursor: KeyCursor): unknown;
  /** The value as JSON text. */
  format(value: never): string;
  /**
   * The value of a part in a parsed JSON key. If the part has the wrong form, returns a value that
   * {@link accepts} refuses.
   */
  parse(held: unknown): unknown;
}

/*
 * Text and bytes end with 0x00. Inside them, 0x00 is written as 0x01 0x01, and 0x01 as 0x01 0x02.
 * This keeps the order and marks the part's end. It adds few NUL bytes, which count twice against
 * `limits.keyBytes`.
 */
const terminator = 0;
const escapeMark = 1;

/**
 * The most bytes that an accepted part takes. The part has at most `limits.keyBytes` UTF-16 units
 * or bytes. A unit takes at most three bytes, and an escaped byte takes two.
 */
const partBytes = 3 * limits.keyBytes + intBytes;

/**
 * Size of a buffer that has room for any key. The last part begins at `limits.keyBytes` at the
 * latest.
 */
export const keyRoom = limits.keyBytes + partBytes;

const text: KeyPartForm = {
  expected: "a string without lone surrogates",
  example: '"a"',
  accepts: (value) => typeof value === "string" && isWellFormed(value),
  write: (value: string, out, at) =>
    writeAscii(value, out, at) || writeEscaped(Buffer.from(value, "utf8"), out, at),
  read(cursor) {
    const plain = readEscaped(cursor);
    return plain === undefined ? undefined : decodeUtf8(plain, 0, plain.length);
  },
  format: (value: string) => JSON.stringify(value),
  parse: (held) => held,
};

const bytes: KeyPartForm = {
  expected: "a Uint8Array (base64 as text)",
  example: "Uint8Array.of(1)",
  accepts: isBytes,
  write: (value: Uint8Array, out, at) => writeEscaped(value, out, at),
  read(cursor) {
    const plain = readEscaped(cursor);
    return plain === undefined ? undefined : new Uint8Array(plain);
  },
  format: (value: Uint8Array) => JSON.stringify(toBase64(value)),
  parse: (held) => (typeof held === "string" ? fromBase64(held) : undefined),
};

const int: KeyPartForm = {
  expected: "a safe integer",
  example: "1",
  accepts: (value) => Number.isSafeInteger(value),
  write: (value: number, out, at) => writeInt(value, out, at),
  read(cursor) {
    const length = cursor.at < cursor.end ? intLength(cursor.buffer[cursor.at]!) : 0;
    if (length === 0 || cursor.at + length > cursor.end) return undefined;
    cursor.at += length;
    return readInt(cursor.buffer, cursor.at - length, length);
  },
  format: (value: number) => String(value),
  parse: (held) => (held === 0 ? 0 : held),
};

const float: KeyPartForm = {
  example: "1.5",
  expected: 'a number other than NaN (the infinities as text: "Infinity", "-Infinity")',
  accepts: (value) => typeof value === "number" && !Number.isNaN(value),
  write: (value: number, out, at) => writeSortableFloat(value, out, at),
  read(cursor) {
    if (cursor.at + floatBytes > cursor.end) return undefined;
    cursor.at += floatBytes;
    return readSortableFloat(cursor.buffer, cursor.at - floatBytes);
  },
  format: (value: number) =>
    Number.isFinite(value) ? (Object.is(value, -0) ? "-0" : String(value)) : `"${value}"`,
  parse: (held) => (held === "Infinity" || held === "-Infinity" ? Number(held) : held),
};

// Written as 1 and 2 instead of 0 and 1, because a NUL byte counts twice.
const boolean: KeyPartForm = {
  expected: "a boolean",
  example: "true",
  accepts: (value) => typeof value === "boolean",
  write(value: boolean, out, at) {
    out[at] = value ? 2 : 1;
    return at + 1;
  },
  read(cursor) {
    const byte = cursor.at < cursor.end ? cursor.buffer[cursor.at] : undefined;
    if (byte !== 1 && byte !== 2) return undefined;
    cursor.at += 1;
    return byte === 2;
  },
  format: (value: boolean) => String(value),
  parse: (held) => held,
};

/** The form of each codec that can be a part of a key. */
export const keyPartForms: ReadonlyMap<string, KeyPartForm> = new Map<KeyPartTag, KeyPartForm>([
  ["text", text],
  ["bytes", bytes],
  ["int", int],
  ["float", float],
  ["boolean", boolean],
]);

/**
 * Like {@link writeEscaped}, but without a copy. Returns 0 if the text has a character that is not
 * ASCII or needs an escape.
 */
function writeAscii(value: string, out: Buffer, at: number): number {
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    if (unit <= escapeMark || unit > 0x7f) return 0;
    out[at + i] = unit;
  }
  out[at + value.length] = terminator;
  return at + value.length + 1;
}

function writeEscaped(plain: Uint8Array, out: Buffer, start: number): number {
  let at = start;
  for (const byte of plain) {
    if (byte <= escapeMark) out[at++] = escapeMark;
    out[at++] = byte <= escapeMark ? byte + 1 : byte;
  }
  out[at] = terminator;
  return at + 1;
}

function readEscaped(cursor: KeyCursor): Buffer | undefined {
  const { buffer, at, end } = cursor;
  const stop = buffer.indexOf(terminator, at);
  if (stop < 0 || stop >= end) return undefined;
  cursor.at = stop + 1;
  const plain = Buffer.allocUnsafe(stop - at);
  let length = 0;
  for (let i = at; i < stop; i++) {
    let byte = buffer[i]!;
    if (byte === escapeMark) {
      byte = buffer[++i]! - 1;
      if (byte < 0 || byte > escapeMark) return undefined;
    }
    plain[length++] = byte;
  }
  return plain.subarray(0, length);
}

/** Bytes in base64. */
export function toBase64(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
}

/** The bytes of padded base64. Undefined if the text is not base64. */
export function fromBase64(encoded: string): Uint8Array | undefined {
  const decoded = Buffer.from(encoded, "base64");
  return decoded.toString("base64") === encoded ? new Uint8Array(decoded) : undefined;
}
