import type { Command } from "commander";
import { definition } from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { plainCommand } from "../../command.js";
import { completionScript, type Shell, shells } from "../../completion/scripts.js";
import { wordsOf } from "../../completion/words.js";
import { withDatabase } from "../../database/open-database.js";
import { UsageError } from "../../usage-error.js";

interface CompletionOptions {
  readonly targets?: string | undefined;
}

export function addCompletion(program: Command, cli: Cli): void {
  plainCommand(program, "completion", {
    summary: "print a completion script for a shell",
    description:
      "Prints a script for bash, zsh or fish. The script completes commands, options, files, and the tables and columns " +
      "of a folder. With --targets the command prints those tables and columns; the scripts call it. For other stores " +
      "it prints none, because a request would take too long.",
    examples: [
      "completion bash >> ~/.bashrc",
      "completion zsh > ~/.zfunc/_percolator",
      "completion fish > ~/.config/fish/completions/percolator.fish",
    ],
    json: ['{"shell","script"}, or {"targets"} with --targets.'],
  })
    .argument("[shell]", shells.join(", "))
    .option("--targets <location>", "print the tables and columns of a database instead, one on each line")
    .action(async (shell: string | undefined, { targets: location }: CompletionOptions) => {
      if (location !== undefined) {
        const targets = await targetsOf(cli, location);
        return await cli.print({ targets }, () => targets);
      }
      if (!isShell(shell)) throw new UsageError(`Name a shell: ${shells.join(", ")}.`);
      const script = completionScript(shell, wordsOf(program));
      await cli.print({ shell, script }, () => script.trimEnd().split("\n"));
    });
}

function isShell(shell: string | undefined): shell is Shell {
  return shells.some((each) => each === shell);
}

async function targetsOf(cli: Cli, location: string): Promise<readonly string[]> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location) && !location.startsWith("file://")) return [];
  return await withDatabase(cli, { reads: true, location }, async ({ names, table }) =>
    names.flatMap((name) => [
      name,
      ...[...table(name)![definition].columns.keys()].map((column) => `${name}.${column}`),
    ]),
  );
}
