import { InvalidArgumentError } from "./errors.js";

/** Every option name of `O`. The compiler rejects a table that misses one. */
export type OptionNames<O> = Readonly<Record<keyof O, true>>;

/**
 * Throws an InvalidArgumentError if `options` has a name that the call does not take. Otherwise a
 * misspelt option would be ignored silently. The compiler finds misspelt names only in options that
 * are written out in the call.
 */
export function checkOptionNames<O extends object>(call: string, options: O, names: OptionNames<O>): void {
  for (const name in options) {
    if (name in names || options[name] === undefined) continue;
    const known = Object.keys(names)
      .map((each) => `\`${each}\``)
      .join(", ");
    throw new InvalidArgumentError(`\`${call}\` has no option \`${name}\`. It takes ${known}.`);
  }
}
