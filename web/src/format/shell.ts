import { hidden } from "./text.js";

/**
 * An argument as a shell takes it, quoted if necessary. A terminal would act on a control character
 * that somebody pastes, such as one that ends the line. So these are escaped, for bash and zsh. zsh takes
 * a word that begins with `=` for the name of a program.
 */
export function quoted(argument: string): string {
  if (/^(?!=)[\w@%+=:,./-]+$/.test(argument)) return argument;
  if (argument.search(hidden) >= 0) {
    return `$'${argument.replaceAll(/['\\]/g, "\\$&").replaceAll(hidden, bytesOf)}'`;
  }
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

export interface CommandParts {
  readonly command: string;
  /** Options by name. An undefined or empty option is left out, except the empty key. An option that is `true` has no value. */
  readonly options?: Readonly<Record<string, string | number | true | undefined>> | undefined;
  /** Arguments after the location. */
  readonly args?: readonly string[] | undefined;
}

/**
 * The command line that prints what a view shows, such as
 * `percolator pending ./data --observer cluster`.
 */
export function commandLine(location: string, { command, options = {}, args = [] }: CommandParts): string {
  const words = ["percolator", command];
  const given: string[] = [];
  for (const [name, value] of Object.entries(options)) {
    // Only a row can be empty.
    if (value === undefined || (value === "" && name !== "after")) continue;
    const text = String(value);
    // A value that looks like an option must be joined to its option with `=`.
    if (value === true) given.push(`--${name}`);
    else if (text.startsWith("-")) given.push(`--${name}=${quoted(text)}`);
    else given.push(`--${name}`, quoted(text));
  }
  const places = [location, ...args];
  if (places.some((place) => place.startsWith("-"))) words.push(...given, "--", ...places.map(quoted));
  else words.push(...places.map(quoted), ...given);
  return words.join(" ");
}

function bytesOf(character: string): string {
  const bytes = [...new TextEncoder().encode(character)];
  return bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}
