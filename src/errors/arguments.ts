import { InvalidArgumentError } from "./errors.js";

/**
 * Throws an InvalidArgumentError unless `fits`. Use it for an argument of the wrong type, which the
 * compiler refuses, but a program in JavaScript may pass.
 */
export function checkArgument(call: string, wanted: string, given: unknown, fits: boolean): void {
  if (!fits) throw new InvalidArgumentError(`\`${call}\` takes ${wanted}, not ${kindOf(given)}.`);
}

/** The same for the database that a call takes. */
export function checkDatabase(call: string, given: unknown): void {
  const { transact } = (given ?? {}) as { readonly transact?: unknown };
  checkArgument(call, "a database that `open` returned", given, typeof transact === "function");
}

/** The same for a location or another text that several calls take. `what` begins a sentence. */
export function checkText(what: string, given: unknown): void {
  if (typeof given !== "string")
    throw new InvalidArgumentError(`${what} must be a text, not ${kindOf(given)}.`);
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Every option name of `O`. The compiler rejects a table that misses one. */
export type OptionNames<O> = Readonly<Record<keyof O, true>>;

/**
 * Throws an InvalidArgumentError if `options` has a name that the call does not take. Otherwise a
 * misspelt option would be ignored silently. The compiler finds misspelt names only in options that
 * are written out in the call. Throws one also if `options` is not an object.
 */
export function checkOptionNames<O extends object>(call: string, options: O, names: OptionNames<O>): void {
  checkArgument(call, "an object of options", options, isObject(options));
  for (const name in options) {
    if (name in names || options[name] === undefined) continue;
    const known = Object.keys(names)
      .map((each) => `\`${each}\``)
      .join(", ");
    throw new InvalidArgumentError(`\`${call}\` has no option \`${name}\`. It takes ${known}.`);
  }
}
