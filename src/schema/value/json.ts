import { InvalidValueError, SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { decodeUtf8 } from "../utf8.js";
import { buildCodec, type Codec, checkValueBytes, unreadable } from "./codec.js";
import { findUnfit } from "./json-fit.js";
import { type StandardSchema, validate } from "./standard-schema.js";

/**
 * `T` with `never` in each place whose values JSON cannot carry: dates, bigints, maps, sets, bytes,
 * functions, symbols. A type that differs from its fit cannot be the type of a JSON column.
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
 * What JSON can carry, stored as JSON text in UTF-8: null, booleans, finite numbers, strings,
 * arrays and plain objects of these, nested to a depth of at most 500. What JSON would change
 * without a word (undefined, functions, symbols, NaN, infinities, instances of classes such as Date
 * and Map, empty places in arrays) and what it cannot carry (bigints, cycles) is refused, and the
 * error says where in the value. -0 becomes 0.
 *
 * With a Standard Schema, each value is validated when it is written and when it is read, and what
 * the schema gives is what is stored and answered. It must answer at once, and take what it gives:
 * one that turns strings into numbers could not read its own values, and does not compile. Without
 * one, the type is the writer's promise, unchecked but for what JSON cannot carry, which does not
 * compile: for those there are `date()` and `bigint()`.
 *
 * @example const pages = table("pages", { links: json<string[]>(), meta: json(z.object({ title:
 * z.string() })) });
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
    // A getter that throws, or a text longer than any string may be.
    const reason = cause instanceof Error ? cause.message : describeValue(cause);
    throw new InvalidValueError(`JSON cannot carry the value: ${reason}`, { cause });
  }
  throw new InvalidValueError(unfit);
}

function decodeJson(buffer: Buffer, start: number, end: number): unknown {
  const text = decodeUtf8(buffer, start, end);
  if (text === undefined) throw unreadable("JSON", start, end);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidValueError(unreadable("JSON", start, end).message, { cause });
  }
}
