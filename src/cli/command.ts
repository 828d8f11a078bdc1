import { type Command, InvalidArgumentError } from "commander";
import { UsageError } from "./usage-error.js";

/** The parts of `percolator COMMAND --help` that follow the options. */
export interface CommandHelp {
  /** One line for the list of commands. */
  readonly summary: string;
  readonly description: string;
  /** Example command lines, without the leading `percolator`. */
  readonly examples: readonly string[];
  /** Describes what `--json` prints. */
  readonly json: readonly string[];
  /**
   * Meanings that exit codes have for this command, in addition to those in `percolator --help`.
   */
  readonly exit?: readonly string[] | undefined;
}

const helps = new WeakMap<Command, CommandHelp>();

/** Returns a command's help text, or undefined if the command has none. */
export function helpOf(command: Command): CommandHelp | undefined {
  return helps.get(command);
}

/** The options of every command that opens a database. */
export interface DatabaseOptions {
  readonly app?: string | undefined;
}

/**
 * Adds a command that opens a database. Its first argument is the location. The caller adds the
 * other arguments.
 */
export function databaseCommand(program: Command, name: string, help: CommandHelp): Command {
  return plainCommand(program, name, help, (command) =>
    command.argument(
      "<location>",
      'the database: a folder, such as "./data", postgres://USER@HOST/DATABASE, or bigtable://PROJECT/INSTANCE',
    ),
  );
}

/**
 * Adds a command that opens no database. `begin` adds arguments and options that the help must list
 * before `--json`.
 */
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

/**
 * Adds `--app MODULE`. The module supplies what the database's catalog does not record, such as
 * custom codecs.
 */
export function addAppOption(command: Command): Command {
  return command.option(
    "--app <module>",
    "JavaScript or TypeScript module that default-exports { tables, observers }; needed for tables that are not yet recorded, " +
      "and for columns with a custom codec",
  );
}

/** Collects the values of an option that may be given several times. */
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

/** Splits a long line after spaces or commas. */
function wrapped(line: string): readonly string[] {
  if (line.length <= widest) return [line];
  const at = Math.max(line.lastIndexOf(" ", widest - 1), line.lastIndexOf(",", widest - 1)) + 1;
  if (at <= 0) return [line];
  return [line.slice(0, at).trimEnd(), ...wrapped(line.slice(at))];
}

/**
 * Returns a parser for an option or argument. If the parser throws, Commander reports the error
 * with the option's name.
 */
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
