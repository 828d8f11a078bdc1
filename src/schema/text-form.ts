import { InvalidValueError, SchemaError } from "../errors/index.js";
import type { Codec } from "./codec.js";
import { describeValue } from "./describe.js";
import { fromBase64, toBase64 } from "./key-part.js";

/** A value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A codec, or its tag. */
type CodecOrTag = Codec<unknown> | string;

/**
 * A value as text for people: text as it is, numbers and booleans as in JavaScript, JSON as JSON, bytes as base64. What a
 * custom codec gave is shown as JSON where JSON can carry it, else described.
 */
export function formatValue(codec: CodecOrTag, value: unknown): string {
  if (typeof value === "string" && tagOf(codec) !== "json") return value;
  if (value instanceof Uint8Array) return toBase64(value);
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return stringify(value) ?? describeValue(value);
}

/**
 * A value as JSON for programs: text, booleans, finite numbers and JSON stay what they are; NaN and the infinities become
 * strings, bytes base64; what else a custom codec gave is described.
 */
export function valueToJson(value: unknown): Json {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (value instanceof Uint8Array) return toBase64(value);
  const text = stringify(value);
  return text === undefined ? describeValue(value) : (JSON.parse(text) as Json);
}

/**
 * The value of a text as a person gives it; see {@link formatValue}. Strict: `1.0` is not an int, `yes` not a boolean.
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
  ["json", "JSON"],
]);

const parsers: ReadonlyMap<string, (text: string) => unknown> = new Map<string, (text: string) => unknown>([
  ["text", (text) => text],
  ["bytes", fromBase64],
  ["int", parseInteger],
  ["float", parseNumber],
  ["boolean", (text) => (text === "true" ? true : text === "false" ? false : undefined)],
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
