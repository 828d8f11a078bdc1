import { InvalidArgumentError } from "./errors.js";

/**
 * Throws an InvalidArgumentError unless `fits`. Use it for an argument of the wrong type, which the
 * compiler refuses, but a program in JavaScript may pass.
 */
export function checkArgument(call: string, wanted: string, given: unknown, fits: boolean): void {
  if (fits) return;
  const type = given === null || given === undefined ? String(given) : `a value of type ${typeof given}`;
  throw new InvalidArgumentError(
    `\`${call}\` takes ${wanted}, not ${Array.isArray(given) ? "an array" : type}.`,
  );
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
