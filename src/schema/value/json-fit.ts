import { className, describeValue } from "../describe.js";
import { pathStep } from "./standard-schema.js";

/** The deepest nesting of a JSON value. It keeps the recursion far below the stack's limit. */
export const jsonDepth = 500;

interface Unfit {
  readonly what: string;
  path: string;
}

/** Why JSON cannot carry a value unchanged, and at which place in it. Undefined if it can. */
export function findUnfit(value: unknown): string | undefined {
  const unfit = look(value, []);
  if (unfit === undefined) return undefined;
  const where = unfit.path === "" ? "the value" : `the value at ${unfit.path}`;
  return `JSON cannot represent ${where}: ${unfit.what}`;
}

function look(value: unknown, parents: object[]): Unfit | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : unfit(`${value} would become null`);
    case "object":
      return value === null ? undefined : lookInside(value, parents);
    case "undefined":
      return unfit("it is undefined; use null, or delete the column");
    default:
      return unfit(`it is ${describeValue(value)}`);
  }
}

function lookInside(value: object, parents: object[]): Unfit | undefined {
  if (parents.includes(value)) return unfit("it contains itself");
  if (parents.length >= jsonDepth) return unfit(`it is nested more than ${jsonDepth} deep`);
  const isArray = Array.isArray(value);
  if (!(isArray ? isPlainArray(value) : isPlain(value))) {
    return unfit(
      `it is an instance of ${className(value) ?? "a class"}, and would be read back as another type`,
    );
  }
  parents.push(value);
  const found = isArray ? lookThroughArray(value, parents) : lookThroughObject(value, parents);
  parents.pop();
  return found;
}

function lookThroughArray(values: readonly unknown[], parents: object[]): Unfit | undefined {
  for (let i = 0; i < values.length; i++) {
    const found = look(values[i], parents);
    if (found !== undefined) return under(found, i);
  }
  return undefined;
}

function lookThroughObject(value: object, parents: object[]): Unfit | undefined {
  for (const key of Object.keys(value)) {
    const each = (value as Record<string, unknown>)[key];
    // JSON leaves the property out, and who reads it gets undefined all the same.
    if (each === undefined) continue;
    const found = look(each, parents);
    if (found !== undefined) return under(found, key);
  }
  const symbol = Object.getOwnPropertySymbols(value)[0];
  return symbol === undefined
    ? undefined
    : unfit(`it has a property whose name is the symbol ${String(symbol)}`);
}

/** An object literal, of this realm or another, or an object without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf");
}

/** An array, of this realm or another, but of no subclass. The prototype of arrays is itself an array. */
function isPlainArray(value: object): boolean {
  return Array.isArray(Object.getPrototypeOf(value));
}

function unfit(what: string): Unfit {
  return { what, path: "" };
}

function under(found: Unfit, key: PropertyKey): Unfit {
  found.path = pathStep(key) + found.path;
  return found;
}
