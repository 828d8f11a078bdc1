import { CoordinatorError } from "../../errors/index.js";

/** What a message of the other side must be, or this error. */
export function brokenMessage(what: string, cause?: unknown): CoordinatorError {
  return new CoordinatorError(
    `A message between a coordinator and its client cannot be meant: ${what}. Do both have the same version of this package?`,
    { reason: "message", cause },
  );
}

/** A whole number of a message, from `least` to `most`. */
export function wholeIn(what: string, value: unknown, least: number, most: number): number {
  // The codec has 64 bits as objects.
  const number = typeof value === "number" ? value : Number(value ?? 0);
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
  throw brokenMessage(`${what} is ${String(value)}, and no whole number from ${least} to ${most}`);
}

/** A list of a message. */
export function listOf<T>(what: string, values: readonly T[] | null | undefined, most: number): readonly T[] {
  const list = values ?? [];
  if (list.length <= most) return list;
  throw brokenMessage(`${what} are ${list.length}, at most ${most} may be`);
}

/** Text of a message, not empty. */
export function textOf(what: string, value: string | null | undefined, most: number): string {
  if (typeof value === "string" && value.length > 0 && value.length <= most) return value;
  throw brokenMessage(`${what} has ${value?.length ?? 0} characters, not 1 to ${most}`);
}

/** Bytes of a message. */
export function bytesOf(what: string, value: Uint8Array | null | undefined, most: number): Uint8Array {
  if (value instanceof Uint8Array && value.length <= most) return value;
  throw brokenMessage(`${what} has ${value?.length ?? "no"} bytes, at most ${most} may be`);
}
