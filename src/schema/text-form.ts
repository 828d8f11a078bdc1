import { types } from "node:util";
import { InvalidValueError, SchemaError } from "../errors/index.js";
import { describeValue } from "./describe.js";
import { fromBase64, toBase64 } from "./key/key-part.js";
import type { Codec } from "./value/codec.js";
import { valueTag } from "./value/compressed.js";

/** A value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A codec, or its tag. */
type CodecOrTag = Codec<unknown> | string;

/**
 * A value as text for people: strings unchanged, numbers and booleans as in JavaScript, dates in
 * ISO 8601, JSON as JSON, bytes in base64. Other values, from custom codecs, are shown as JSON, or
 * as a description if JSON cannot carry them.
 */
export function formatValue(codec: CodecOrTag, value: unknown): string {
  if (typeof value === "string" && tagOf(codec) !== "json") return value;
  if (value instanceof Uint8Array) return toBase64(value);
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
    return String(value);
  if (types.isDate(value) && !Number.isNaN(value.getTime())) return value.toISOString();
  return stringify(value) ?? describeValue(value);
}

/**
 * A value as JSON for programs. Strings, booleans, finite numbers and JSON are unchanged. NaN, the
 * infinities, dates and bigints become strings, and bytes base64. Other values, from custom codecs,
 * become JSON, or a description if JSON cannot carry them.
 */
export function valueToJson(value: unknown): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return toBase64(value);
  const text = stringify(value);
  return text === undefined ? describeValue(value) : (JSON.parse(text) as Json);
}

/** Codecs whose values may be text in JSON, because JSON cannot carry all of them. */
const asText = new Set(["float", "date", "bigint"]);

/**
 * The value of JSON that {@link valueToJson} made, or a program wrote by hand. The codec checks it when it
 * encodes the value.
 *
 * @throws InvalidValueError if text is not a value of the codec.
 */
export function valueFromJson(codec: CodecOrTag, json: Json | undefined): unknown {
  const tag = tagOf(codec);
  if (tag === "bytes") {
    if (typeof json !== "string") throw new InvalidValueError("the value must be base64 text");
    return parseValue(tag, json);
  }
  if (asText.has(tag) && typeof json === "string") return parseValue(tag, json);
  return tag === "bigint" && Number.isSafeInteger(json) ? BigInt(json as number) : json;
}

/**
 * Parses a value that a person typed: see {@link formatValue}. It is strict: `1.0` is not an int,
 * and `yes` is not a boolean.
 *
 * @throws InvalidValueError if the text is not a value of the codec.
 * @throws SchemaError for a custom codec, whose values have no text form.
 */
export function parseValue(codec: CodecOrTag, text: string): unknown {
  const tag = tagOf(codec);
  const parse = parsers.get(tag);
  if (parse === undefined) {
    throw new SchemaError(
      `A value of a custom codec (${tag}) cannot be given as text. Write it with a program that has the codec`,
    );
  }
  const value = parse(text);
  if (value === undefined) throw new InvalidValueError(`${describeValue(text)} is not ${expected.get(tag)}`);
  return value;
}

const expected: ReadonlyMap<string, string> = new Map([
  ["bytes", "base64 (with its padding)"],
  ["int", "an integer from -(2^53 - 1) to 2^53 - 1"],
  ["float", "a number, NaN, Infinity or -Infinity"],
  ["boolean", "true or false"],
  ["date", "a moment in ISO 8601, such as 2026-11-22T19:20:00Z"],
  ["bigint", "an integer"],
  ["json", "JSON"],
]);

const parsers: ReadonlyMap<string, (text: string) => unknown> = new Map<string, (text: string) => unknown>([
  ["text", (text) => text],
  ["bytes", fromBase64],
  ["int", parseInteger],
  ["float", parseNumber],
  ["boolean", (text) => (text === "true" ? true : text === "false" ? false : undefined)],
  ["date", parseDate],
  ["bigint", (text) => (/^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, "")) : undefined)],
  ["oneOf", (text) => text],
  ["json", parseJson],
]);

function parseInteger(text: string): number | undefined {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

function parseNumber(text: string): number | undefined {
  if (text === "NaN") return Number.NaN;
  return /^[+-]?(Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)$/.test(text) ? Number(text) : undefined;
}

/**
 * Accepts only texts that name one moment. `Date` itself accepts almost any text, and reads a time
 * without a zone in the machine's zone.
 */
function parseDate(text: string): Date | undefined {
  const moment = /^([+-]\d{6}|\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.exec(
    text,
  );
  if (moment === null) return undefined;
  const [year, month, day] = moment.slice(1, 4).map(Number) as [number, number, number];
  const value = new Date(text);
  // A year has the same months as the year 400 years later. This check uses a year from 2000 to
  // 2399, because a Date can hold those.
  const isOfCalendar = day <= new Date(Date.UTC(2_000 + (Math.abs(year) % 400), month, 0)).getUTCDate();
  return isOfCalendar && !Number.isNaN(value.getTime()) ? value : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tagOf(codec: CodecOrTag): string {
  const tag: unknown = typeof codec === "string" ? codec : codec?.tag;
  if (typeof tag === "string") return valueTag(tag);
  throw new SchemaError(`A codec such as text(), or its tag, is needed, not ${describeValue(codec)}`);
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
