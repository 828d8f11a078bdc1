import { InvalidValueError, SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { decodeUtf8 } from "../utf8.js";
import { buildCodec, type Codec, checkValueBytes, unreadableError } from "./codec.js";
import { findUnfit } from "./json-fit.js";
import { type StandardSchema, validate } from "./standard-schema.js";

/**
 * `T`, with `never` in each place whose values JSON cannot carry: dates, bigints, maps, sets,
 * bytes, functions, symbols. A JSON column cannot have a type that differs from its `JsonFit`.
 */
export type JsonFit<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends
          | bigint
          | symbol
          | Date
          | RegExp
          | Error
          | ArrayBuffer
          | ArrayBufferView
          | ReadonlyMap<unknown, unknown>
          | ReadonlySet<unknown>
          | Promise<unknown>
          | ((...args: never[]) => unknown)
      ? never
      : { [N in keyof T]: JsonFit<T[N]> };

/**
 * JSON values, stored as JSON text in UTF-8: null, booleans, finite numbers, strings, and arrays
 * and plain objects of these, nested at most 500 deep. -0 becomes 0.
 *
 * Other values are refused, and the error names the place in the value. JSON would change some of
 * them silently: undefined, functions, symbols, NaN, infinities, holes in arrays, and instances of
 * classes such as Date and Map. JSON cannot carry others at all: bigints and cycles. Use `date()`
 * for dates and `bigint()` for bigints.
 *
 * With a Standard Schema, every write and every read validates the value. The column stores and
 * returns the schema's output. The schema must be synchronous and accept its own output: a schema
 * that turns strings into numbers does not compile. Without a schema, nothing checks the type at
 * run time. The compiler refuses types that JSON cannot carry.
 *
 * @throws InvalidValueError from writes and reads if the value is refused.
 *
 * @example
 * const pages = table("pages", {
 *   links: json<string[]>(),
 *   meta: json(z.object({ title: z.string() })),
 * });
 */
export function json<T>(...unfit: [T] extends [JsonFit<T>] ? [] : [JsonFit<T>]): Codec<T>;
export function json<I, O extends I>(schema: StandardSchema<I, O>): Codec<O, I>;
export function json(given?: unknown): Codec<unknown> {
  const schema = given as StandardSchema | undefined;
  if (schema === undefined) return buildCodec("json", encodeJson, decodeJson);
  if (typeof schema?.["~standard"]?.validate !== "function") {
    throw new SchemaError("json() takes a Standard Schema (zod, valibot, arktype, ...) or nothing");
  }
  return buildCodec(
    "json",
    (value) => encodeJson(validate(schema, value)),
    (buffer, start, end) => validate(schema, decodeJson(buffer, start, end)),
    { decodesInPlace: false, hasSchema: true },
  );
}

function encodeJson(value: unknown): Buffer {
  const text = stringify(value);
  if (text.length * 3 > limits.valueBytes) checkValueBytes(Buffer.byteLength(text, "utf8"));
  return Buffer.from(text, "utf8");
}

function stringify(value: unknown): string {
  let unfit: string | undefined;
  try {
    unfit = findUnfit(value);
    if (unfit === undefined) return JSON.stringify(value);
  } catch (cause) {
    // A getter threw, or the text is longer than the longest string.
    const reason = cause instanceof Error ? cause.message : describeValue(cause);
    throw new InvalidValueError(`JSON cannot represent the value: ${reason}`, { cause });
  }
  throw new InvalidValueError(unfit);
}

function decodeJson(buffer: Buffer, start: number, end: number): unknown {
  const text = decodeUtf8(buffer, start, end);
  if (text === undefined) throw unreadableError("JSON", start, end);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidValueError(unreadableError("JSON", start, end).message, { cause });
  }
}
