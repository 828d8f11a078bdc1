import { InvalidValueError } from "../../errors/index.js";

/**
 * The JSON of events. Values that JSON does not have are objects with one key that begins with `$`:
 *
 * - a bigint: `{"$bigint":"12"}`
 * - bytes: `{"$bytes":"…"}`, in base64
 * - a Date: `{"$date":"2026-01-31T12:00:00.000Z"}`
 * - NaN, infinite numbers and -0: `{"$number":"NaN"}`
 * - a Map: `{"$map":[[key,value]]}`, and a Set: `{"$set":[value]}`
 * - undefined, if it is not a property: `{"$undefined":true}`
 *
 * Any other object with one key that begins with `$` gets another `$` in front of it.
 * `live/client/json.ts` reads this form.
 */

/** Deeper values are refused, since a value that contains itself has no end. */
const maxDepth = 200;

/**
 * Returns the JSON of a value.
 *
 * @throws InvalidValueError for functions, symbols, invalid dates, and values that contain
 * themselves.
 */
export function encodeJson(value: unknown): string {
  return JSON.stringify(plain(value, 0));
}

function plain(value: unknown, depth: number): unknown {
  if (depth > maxDepth) {
    throw new InvalidValueError(
      `A live value is nested deeper than ${maxDepth} levels, or contains itself. Return a smaller part of it.`,
    );
  }
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { $number: numberText(value) };
    case "bigint":
      return { $bigint: String(value) };
    case "undefined":
      return { $undefined: true };
    case "object":
      return value === null ? null : plainObject(value, depth + 1);
    default:
      throw new InvalidValueError(`A live value contains a ${typeof value}, which JSON cannot express.`);
  }
}

function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

function plainObject(value: object, depth: number): unknown {
  if (Array.isArray(value)) return Array.from(value, (each) => plain(each, depth));
  if (value instanceof Date) return { $date: dateText(value) };
  if (value instanceof Uint8Array) {
    return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") };
  }
  if (value instanceof Map) {
    return { $map: Array.from(value, ([key, each]) => [plain(key, depth), plain(each, depth)]) };
  }
  if (value instanceof Set) return { $set: Array.from(value, (each) => plain(each, depth)) };
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw new InvalidValueError("A live value contains binary data that is not a Uint8Array. Convert it.");
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON(), depth);
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  const isTaken = entries.length === 1 && entries[0]![0].startsWith("$");
  // `fromEntries` defines a property named `__proto__`, where an assignment would set the prototype.
  return Object.fromEntries(entries.map(([key, each]) => [isTaken ? `$${key}` : key, plain(each, depth)]));
}

function dateText(value: Date): string {
  if (Number.isNaN(value.getTime())) {
    throw new InvalidValueError("A live value contains an invalid Date. Use null or undefined instead.");
  }
  return value.toISOString();
}
