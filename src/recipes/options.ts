import { InvalidArgumentError } from "../index.js";

/**
 * Returns the option if it is a whole number within its bounds. Throws an `InvalidArgumentError`
 * otherwise.
 */
export function wholeOption(name: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new InvalidArgumentError(
    `\`${name}\` must be a whole number from ${least} to ${most}, not ${shown(value)}.`,
  );
}

/**
 * Returns the option if it is a number within its bounds. Throws an `InvalidArgumentError`
 * otherwise.
 */
export function numberOption(name: string, value: number, least: number, most: number): number {
  if (typeof value === "number" && value >= least && value <= most) return value;
  throw new InvalidArgumentError(
    `\`${name}\` must be a number from ${least} to ${most}, not ${shown(value)}.`,
  );
}

/** A value for a message. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 100));
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Whether a value is an iterable, and not a string, whose items are its characters. */
export function isIterable<T>(value: Iterable<T>): boolean {
  return typeof value !== "string" && typeof value?.[Symbol.iterator] === "function";
}

/** Throws unless the value is a column of a table: not a family, a signal, a table or something else. */
export function checkColumn(call: string, column: unknown): void {
  if ((column as { kind?: unknown } | null | undefined)?.kind === "column") return;
  throw new InvalidArgumentError(
    `\`${call}\` takes a column of a table that \`table(name, columns)\` returned.`,
  );
}

/** What an option must be: a function, a function if given, or a value that other code checks. */
export type OptionKind = "function" | "function if given" | "any";

/**
 * Throws for an option that the recipe or call does not have, and for one that must be a function
 * and is not.
 */
export function checkOptions<O extends object>(
  call: string,
  options: O,
  kinds: Readonly<Record<keyof O, OptionKind>>,
): void {
  if (typeof options !== "object" || options === null) {
    const type =
      options === null || options === undefined ? String(options) : `a value of type ${typeof options}`;
    throw new InvalidArgumentError(`\`${call}\` takes an object of options, not ${type}.`);
  }
  const names = Object.keys(kinds) as (keyof O & string)[];
  for (const name in options) {
    if (Object.hasOwn(kinds, name) || options[name] === undefined) continue;
    const known = names.map((each) => `\`${each}\``).join(", ");
    throw new InvalidArgumentError(`\`${call}\` has no option \`${name}\`. It takes ${known}.`);
  }
  for (const name of names) {
    const value: unknown = options[name];
    const kind = kinds[name];
    if (kind === "any" || typeof value === "function") continue;
    if (kind === "function if given" && value === undefined) continue;
    throw new InvalidArgumentError(
      `\`${name}\` of \`${call}\` must be a function, not ${value === null ? "null" : typeof value}.`,
    );
  }
}
