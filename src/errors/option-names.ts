import { InvalidArgumentError } from "./errors.js";

/** Every name of an option of `O`: the compiler sees to it that none is missing. */
export type OptionNames<O> = Readonly<Record<keyof O, true>>;

/**
 * Throws an InvalidArgumentError if an option is not one that the call takes: a misspelt option
 * would be ignored in silence. The compiler sees that only where the options are written out in the
 * call.
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
