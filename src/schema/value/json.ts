import { checkOptionNames, InvalidValueError, type OptionNames, SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { limits } from "../limits.js";
import { decodeUtf8 } from "../utf8.js";
import { buildCodec, type Codec, checkValueBytes, unreadableError } from "./codec.js";
import { findUnfit } from "./json-fit.js";
import {
  type Conversions,
  checkVersions,
  downgradeValue,
  type JsonOptions,
  newerValueError,
  readVersion,
  upgradeValue,
  versionPrefix,
} from "./json-version.js";
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
 * and plain objects of these, nested at most 500 deep. -0 becomes 0. A property that is undefined is
 * left out, and so are the named properties of an array.
 *
 * Other values are refused, and the error names the place in the value. JSON would change some of
 * them silently: undefined in an array, functions, symbols, NaN, infinities, holes in arrays, and
 * instances of classes such as Date and Map. JSON cannot carry others at all: bigints and cycles. Use `date()`
 * for dates and `bigint()` for bigints.
 *
 * With a Standard Schema, every write and every read validates the value. The column stores and
 * returns the schema's output. The schema must be synchronous and accept its own output: a schema
 * that turns strings into numbers does not compile. Without a schema, nothing checks the type at
 * run time. The compiler refuses types that JSON cannot carry.
 *
 * If the shape of the values changes, raise `version` and say how to upgrade older values. Reads
 * then return every value in the new shape. `db.migrate` rewrites the older ones.
 *
 * @throws SchemaError if the schema or an option is not valid.
 * @throws InvalidValueError from writes and reads if the value is refused, or an upgrade fails.
 * @throws NewerValueError from reads if a program with a newer version wrote the value.
 *
 * @example
 * const pages = table("pages", {
 *   links: json<string[]>(),
 *   meta: json(z.object({ title: z.string() })),
 *   author: json(z.object({ first: z.string(), last: z.string() }), {
 *     version: 2,
 *     upgrade: { 1: (old: { name: string }) => ({ first: old.name, last: "" }) },
 *   }),
 * });
 */
export function json<T>(...unfit: [T] extends [JsonFit<T>] ? [] : [JsonFit<T>]): Codec<T>;
export function json<I, O extends I>(schema: StandardSchema<I, O>, options?: JsonOptions): Codec<O, I>;
export function json<T>(
  schema: [T] extends [JsonFit<T>] ? undefined : JsonFit<T>,
  options: JsonOptions,
): Codec<T>;
export function json(given?: unknown, options: JsonOptions = {}): Codec<unknown> {
  const schema = given as StandardSchema | undefined;
  if (schema !== undefined && typeof schema?.["~standard"]?.validate !== "function") {
    throw new SchemaError("json() takes a Standard Schema (zod, valibot, arktype, ...) or nothing");
  }
  checkOptionNames("json()", options, jsonOptionNames);
  const versions = checkVersions(options);
  const { upgrade, downgrade } = options;
  const checked = schema === undefined ? asIs : (value: unknown) => validate(schema, value);
  return buildCodec(
    "json",
    (value) => encodeJson(downgradeValue(checked(value), versions, downgrade), versions.written),
    (buffer, start, end) => checked(decodeJson(buffer, start, end, versions.newest, upgrade)),
    {
      // Upgrades and schemas are code of the program.
      decodesInPlace: schema === undefined && upgrade === undefined,
      hasSchema: schema !== undefined,
      versions: versions.newest === 1 ? undefined : versions,
    },
  );
}

/** Reads JSON of any version in its stored shape, for commands that do not know the shapes. */
export const jsonOfAnyVersion: Codec<unknown> = buildCodec<unknown, "json">(
  "json",
  (value) => encodeJson(value, 1),
  (buffer, start, end) => decodeJson(buffer, start, end, undefined, undefined),
);

/** Writes JSON in a version, for commands that do not know the shapes. */
export function jsonOfVersion(version: number): Codec<unknown> {
  return buildCodec<unknown, "json">(
    "json",
    (value) => encodeJson(value, version),
    jsonOfAnyVersion.decodeRange!,
  );
}

const jsonOptionNames: OptionNames<JsonOptions> = {
  version: true,
  upgrade: true,
  writeVersion: true,
  downgrade: true,
};

function asIs(value: unknown): unknown {
  return value;
}

function encodeJson(value: unknown, version: number): Buffer {
  const text = versionPrefix(version) + stringify(value);
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

/** Decodes a stored value, and upgrades it to `newest`. Undefined leaves it as it is stored. */
function decodeJson(
  buffer: Buffer,
  start: number,
  end: number,
  newest: number | undefined,
  upgrade: Conversions | undefined,
): unknown {
  const stored = readVersion(buffer, start, end);
  if (stored === undefined) throw unreadableError("JSON", start, end);
  const { version, at } = stored;
  if (newest !== undefined && version > newest) throw newerValueError(version, newest);
  const text = decodeUtf8(buffer, at, end);
  if (text === undefined) throw unreadableError("JSON", start, end);
  const value = parse(text, start, end);
  return newest === undefined || version === newest ? value : upgradeValue(value, version, newest, upgrade);
}

function parse(text: string, start: number, end: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidValueError(unreadableError("JSON", start, end).message, { cause });
  }
}
