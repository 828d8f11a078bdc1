import { CoordinatorError } from "../../errors/index.js";

/** The error for an invalid message. */
export function brokenMessage(what: string, cause?: unknown): CoordinatorError {
  return new CoordinatorError(
    `A message between a coordinator and its client is invalid: ${what}. Run the same version of percolatordb on both.`,
    { reason: "message", cause },
  );
}

/** Checks an integer of a message against its limits. */
export function wholeIn(what: string, value: unknown, least: number, most: number): number {
  // A 64-bit integer of the codec may be an object.
  const number = typeof value === "number" ? value : Number(value ?? 0);
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
  throw brokenMessage(`${what} is ${String(value)}, not a whole number from ${least} to ${most}`);
}

/** Checks the length of a list in a message. */
export function listOf<T>(what: string, values: readonly T[] | null | undefined, most: number): readonly T[] {
  const list = values ?? [];
  if (list.length <= most) return list;
  throw brokenMessage(`${what} are ${list.length}, more than ${most}`);
}

/** Checks a text in a message: it must not be empty or too long. */
export function textOf(what: string, value: string | null | undefined, most: number): string {
  if (typeof value === "string" && value.length > 0 && value.length <= most) return value;
  throw brokenMessage(`${what} has ${value?.length ?? 0} characters, not 1 to ${most}`);
}

/** Checks the length of bytes in a message. */
export function bytesOf(what: string, value: Uint8Array | null | undefined, most: number): Uint8Array {
  if (value instanceof Uint8Array && value.length <= most) return value;
  throw brokenMessage(`${what} has ${value?.length ?? "no"} bytes, more than ${most}`);
}
