import { InvalidKeyError } from "../../errors/index.js";
import { asBuffer, decodeUtf8 } from "../utf8.js";
import { encodeTextKey } from "./key.js";

/*
 * A path names a column in the store. The path of a simple column is its name. The path of a
 * family's cell is the family's name, NUL, and the qualifier in UTF-8. Paths that begin with a
 * tilde belong to the protocol. No column name begins with a tilde.
 */
const separator = 0x00;
const systemMark = 0x7e;

/** A column's name. For a cell of a family, also its qualifier. */
export interface PathParts {
  readonly name: string;
  readonly qualifier: string | undefined;
}

/**
 * A range of a family's cells: from `start` (inclusive) to `end` (exclusive), and only those that
 * begin with `prefix`.
 */
export interface QualifierRange {
  /** Only qualifiers that begin with this string. Default: all. */
  readonly prefix?: string | undefined;
  /** First qualifier, inclusive. Default: the family's first. */
  readonly start?: string | undefined;
  /** End of the range, exclusive. Default: the family's end. */
  readonly end?: string | undefined;
  /** Begins behind this qualifier: the last one of the page before. Default: begins with the first. */
  readonly after?: string | undefined;
}

/** The path of a column, or of a family's cell. */
export function columnPath(name: string, qualifier?: string): Buffer {
  if (qualifier === undefined) return Buffer.from(name, "utf8");
  encodeTextKey(qualifier);
  return Buffer.from(`${name}\0${qualifier}`, "utf8");
}

/** Splits a path that {@link columnPath} made. */
export function parsePath(bytes: Uint8Array): PathParts {
  const buffer = asBuffer(bytes);
  const at = buffer.indexOf(separator);
  const name = decodeUtf8(buffer, 0, at < 0 ? buffer.length : at);
  const qualifier = at < 0 ? undefined : decodeUtf8(buffer, at + 1, buffer.length);
  if (name === undefined || (at >= 0 && qualifier === undefined)) {
    throw new InvalidKeyError(`the stored bytes ${buffer.toString("hex")} are not a column`);
  }
  return { name, qualifier };
}

/** The qualifier's bytes in the path of a family's cell. Empty for a simple column. */
export function qualifierBytes(path: Uint8Array): Uint8Array {
  const at = path.indexOf(separator);
  return at < 0 ? path.subarray(path.length) : path.subarray(at + 1);
}

/**
 * The paths that bound a family's cells, or those of `range`: `start` is inclusive, `end`
 * exclusive. If no cell can be in the range, `end` equals `start`.
 */
export function familyRange(name: string, range: QualifierRange = {}): { start: Buffer; end: Buffer } {
  let start: Buffer = Buffer.from(`${name}\0`, "utf8");
  let end: Buffer = Buffer.from(`${name}\x01`, "utf8");
  const { prefix, start: from, end: to, after } = range;
  if (prefix !== undefined && prefix !== "") {
    start = columnPath(name, prefix);
    // No UTF-8 ends with 0xff, so the last byte has a successor.
    end = Buffer.from(start);
    end[end.length - 1]! += 1;
  }
  if (from !== undefined) start = later(start, columnPath(name, from));
  if (after !== undefined) start = later(start, Buffer.concat([columnPath(name, after), Buffer.of(0)]));
  if (to !== undefined) end = earlier(end, columnPath(name, to));
  return { start, end: later(start, end) };
}

/** Whether a path belongs to the protocol. */
export function isSystemPath(path: Uint8Array): boolean {
  return path[0] === systemMark;
}

function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) >= 0 ? a : b;
}

function earlier(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) <= 0 ? a : b;
}
