import { StoreDamagedError } from "../errors/index.js";

/** Whether a parsed value has the type `T`. */
export type Guard<T> = (value: unknown) => value is T;

type Shape<T> = { readonly [P in keyof T]-?: Guard<T[P]> };

export function encodeJson(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/**
 * Decodes a record that is stored as JSON. `what` begins the error message if the bytes are not
 * such a record.
 */
export function decodeJson<T>(bytes: Uint8Array, what: string, isRecord: Guard<T>): T {
  let read: unknown;
  try {
    read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new StoreDamagedError(`${what} cannot be read. Run \`percolator check\`.`, { cause });
  }
  if (isRecord(read)) return read;
  throw new StoreDamagedError(`${what} does not have the expected form. Run \`percolator check\`.`);
}

/** An object with these properties. It may have others as well. */
export function record<T extends object>(shape: Shape<T>): Guard<T> {
  const checks = Object.entries(shape) as [keyof T & string, Guard<unknown>][];
  return (value): value is T => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    return checks.every(([name, isIt]) =>
      isIt(Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined),
    );
  };
}

export const isString: Guard<string> = (value): value is string => typeof value === "string";

/** Bytes in hexadecimal. */
export const isHex: Guard<string> = (value): value is string =>
  typeof value === "string" && value.length % 2 === 0 && /^[0-9a-f]*$/.test(value);

export const isBoolean: Guard<boolean> = (value): value is boolean => typeof value === "boolean";

/** A count, a version or a timestamp: a safe integer of 0 or more. */
export const isWhole: Guard<number> = (value): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

/** A measured amount: a finite number of 0 or more. */
export const isAmount: Guard<number> = (value): value is number =>
  Number.isFinite(value) && (value as number) >= 0;

const latestMs = 8.64e15;

/** Wall time in milliseconds, within the range of a Date. */
export const isTime: Guard<number> = (value): value is number =>
  typeof value === "number" && Math.abs(value) <= latestMs;

export function optional<T>(guard: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || guard(value);
}

export function nullable<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

export function listOf<T>(guard: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(guard);
}

export function oneOf<T extends string>(...words: readonly T[]): Guard<T> {
  return (value): value is T => words.includes(value as T);
}

/** An object with any names, whose values all have one type. */
export function dictionaryOf<T>(guard: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> =>
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(guard);
}
