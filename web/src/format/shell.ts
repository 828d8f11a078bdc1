/** An argument as a shell takes it, quoted if necessary. */
export function quoted(argument: string): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument;
  return `'${argument.replaceAll("'", "'\\''")}'`;
}

export interface CommandParts {
  readonly command: string;
  /** Options by name. An undefined option is left out. An option that is `true` has no value. */
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
    if (value === undefined || value === "") continue;
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
