import { types } from "node:util";
import { InvalidValueError, SchemaError } from "../errors/index.js";
import { describeValue } from "./describe.js";
import { fromBase64, toBase64 } from "./key/key-part.js";
import type { Codec } from "./value/codec.js";

/** A value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A codec, or its tag. */
type CodecOrTag = Codec<unknown> | string;

/**
 * A value as text for people: text as it is, numbers and booleans as in JavaScript, dates in ISO
 * 8601, JSON as JSON, bytes as base64. What a custom codec gave is shown as JSON where JSON can
 * carry it, else described.
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
 * A value as JSON for programs: text, booleans, finite numbers and JSON stay what they are; NaN and
 * the infinities become strings, as do dates and bigints, bytes base64; what else a custom codec
 * gave is described.
 */
export function valueToJson(value: unknown): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return toBase64(value);
  const text = stringify(value);
  return text === undefined ? describeValue(value) : (JSON.parse(text) as Json);
}

/**
 * The value of a text as a person gives it; see {@link formatValue}. Strict: `1.0` is not an int,
 * `yes` not a boolean.
 *
 * @throws InvalidValueError if the text is not such a value's.
 * @throws SchemaError for a custom codec, whose values have no text.
 */
export function parseValue(codec: CodecOrTag, text: string): unknown {
  const tag = tagOf(codec);
  const parse = parsers.get(tag);
  if (parse === undefined) {
    throw new SchemaError(
      `A value of a custom codec (${tag}) cannot be given as text; write it with a program that has the codec`,
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
  return /^[+-]?(Infinity|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$/i.test(text) ? Number(text) : undefined;
}

/**
 * Only what names one moment: `Date` itself takes almost anything, and a time without a zone for
 * the machine's.
 */
function parseDate(text: string): Date | undefined {
  const moment = /^([+-]\d{6}|\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.exec(
    text,
  );
  if (moment === null) return undefined;
  const [year, month, day] = moment.slice(1, 4).map(Number) as [number, number, number];
  const value = new Date(text);
  // The calendar repeats after 400 years, and all of these are within what a Date holds.
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
  return typeof codec === "string" ? codec : codec.tag;
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
