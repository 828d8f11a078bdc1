import type { Command, Option } from "commander";

/** A command with its options, as the completion scripts need it. */
export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionWords[];
  /** Whether the word after the location is a table or a column. */
  readonly takesTarget: boolean;
}

interface OptionWords {
  /** The option's name, with its dashes. */
  readonly flag: string;
  readonly description: string;
}

const targets: ReadonlySet<string> = new Set(["target", "column", "table"]);

/** Returns the words that shells complete: the commands of a program with their options. */
export function wordsOf(program: Command): readonly CommandWords[] {
  return program.commands.map((command) => ({
    name: command.name(),
    summary: command.summary(),
    options: [...command.options.map(optionWords), { flag: "--help", description: "print help" }],
    takesTarget: targets.has(command.registeredArguments[1]?.name() ?? ""),
  }));
}

function optionWords({ long, short, description }: Option): OptionWords {
  return { flag: long ?? short ?? "", description };
}
