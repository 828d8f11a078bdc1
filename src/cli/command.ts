import { type Command, InvalidArgumentError } from "commander";
import { UsageError } from "./usage-error.js";

/** What `percolator COMMAND --help` says besides the options. */
export interface CommandHelp {
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly description: string;
  /** Command lines without `percolator`. */
  readonly examples: readonly string[];
  /** What `--json` prints. */
  readonly json: readonly string[];
  /** Exit codes, where they mean more than everywhere. */
  readonly exit?: readonly string[] | undefined;
}

const helps = new WeakMap<Command, CommandHelp>();

/** What a command's help says besides its options; undefined for one that has none such. */
export function helpOf(command: Command): CommandHelp | undefined {
  return helps.get(command);
}

/** Options that every command on a database has. */
export interface DatabaseOptions {
  readonly app?: string | undefined;
}

/** Adds a command on a database: its location comes first, then its own arguments. */
export function databaseCommand(program: Command, name: string, help: CommandHelp): Command {
  return plainCommand(program, name, help, (command) =>
    command.argument(
      "<location>",
      'the database: a folder, such as "./data", or bigtable://PROJECT/INSTANCE',
    ),
  );
}

/** Adds a command. `begin`: what comes before its options. */
export function plainCommand(
  program: Command,
  name: string,
  help: CommandHelp,
  begin: (command: Command) => Command = (command) => command,
): Command {
  const command = program.command(name).summary(help.summary).description(help.description);
  helps.set(command, help);
  return begin(command)
    .option("--json", "print JSON, for programs (see below)")
    .addHelpText("after", extraHelp(help));
}

/** Adds `--app MODULE`, for what the catalog of the database does not know. */
export function addAppOption(command: Command): Command {
  return command.option(
    "--app <module>",
    "JavaScript or TypeScript module that default-exports { tables, observers }: for tables not yet recorded, and for " +
      "columns with a codec of their own",
  );
}

/** For an option that may be given several times. */
export function listOption(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

function extraHelp({ examples, json, exit }: CommandHelp): string {
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? "" : `\n${title}:\n${lines.map((line) => `  ${line}\n`).join("")}`;
  return [
    section(
      "Examples",
      examples.map((example) => `$ percolator ${example}`),
    ),
    section("With --json", json.flatMap(wrapped)),
    section("Exit codes", (exit ?? []).flatMap(wrapped)),
  ].join("");
}

const widest = 116;

/** A long line as several, divided behind a space or comma. */
function wrapped(line: string): readonly string[] {
  if (line.length <= widest) return [line];
  const at = Math.max(line.lastIndexOf(" ", widest - 1), line.lastIndexOf(",", widest - 1)) + 1;
  if (at <= 0) return [line];
  return [line.slice(0, at).trimEnd(), ...wrapped(line.slice(at))];
}

/** A parser of an option or argument: what it refuses is reported with the name of the option. */
export function parsedBy<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof UsageError) throw new InvalidArgumentError(error.message);
      throw error;
    }
  };
}
