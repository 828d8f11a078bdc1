import { types } from "node:util";
import { isTransferred } from "./transferred.js";

const shown = 60;

/**
 * Describes a value for messages: short, and without throwing for any value.
 *
 * @example
 * describeValue("x".repeat(5000)) // "xxxxx…" (5000 characters)
 */
export function describeValue(value: unknown): string {
  try {
    return describe(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** What a caller gave instead of a function, for messages. Undefined if it is one whose body runs when it is called. */
export function describeNonFunction(value: unknown): string | undefined {
  if (typeof value !== "function") return describeValue(value);
  return types.isGeneratorFunction(value) ? "a generator, whose body would not run" : undefined;
}

function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return describeString(value);
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      return `${clip(value.toString())}n (a bigint)`;
    case "boolean":
    case "undefined":
      return String(value);
    case "function":
      return "a function";
    case "symbol":
      return "a symbol";
    default:
      return value === null ? "null" : describeObject(value as object);
  }
}

function describeString(value: string): string {
  if (value.length <= shown) return JSON.stringify(value);
  return `${JSON.stringify(value.slice(0, shown)).slice(0, -1)}…" (${value.length} characters)`;
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (ArrayBuffer.isView(value)) {
    const size = isTransferred(value) ? "whose memory was transferred" : `of ${value.byteLength} bytes`;
    return `a ${className(value) ?? "view"} ${size}`;
  }
  if (types.isDate(value) && Number.isNaN(value.getTime())) return "an invalid Date";
  const name = className(value);
  return name === undefined || name === "Object" ? "an object" : `an instance of ${name}`;
}

/** The name of an object's class. Undefined if it has none. */
export function className(value: object): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || typeof prototype !== "object") return undefined;
  const made: unknown = (prototype as { readonly constructor?: unknown }).constructor;
  return typeof made === "function" && made.name !== "" ? clip(made.name) : undefined;
}

function clip(text: string): string {
  return text.length <= shown ? text : `${text.slice(0, shown)}…`;
}
