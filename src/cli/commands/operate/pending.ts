import type { Command } from "commander";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { checkObserver, pendingLines, pendingToJson } from "../../database/observed-text.js";
import { withDatabase } from "../../database/open-database.js";
import { counted, cutToWidth } from "../../print/layout.js";
import { parseCount } from "../../time.js";

interface PendingCommandOptions {
  readonly observer?: string | undefined;
  readonly limit?: number | undefined;
}

export function addPending(program: Command, cli: Cli): void {
  databaseCommand(program, "pending", {
    summary: "list the changes that wait for observers",
    description:
      "Lists the changes that observers have not handled yet: how long each has waited, how often a run has failed, and " +
      "when and why it will be tried again. A run may be in progress. `parked` lists the changes that are not tried " +
      "again.",
    examples: ["pending ./data", "pending ./data --observer cluster --limit 20", "pending ./data --json"],
    json: [
      'A line for each change: {"observer","table","column","qualifier","row","since","timestamp","attempts","crashes",',
      '"notBefore","lastError"}; null if there is none.',
    ],
  })
    .option("--observer <name>", "only changes of this observer")
    .option("--limit <n>", "at most this many changes", parsedBy(parseCount(1)))
    .action((location: string, { observer, limit = Number.POSITIVE_INFINITY }: PendingCommandOptions) =>
      withDatabase(cli, { reads: true, location }, async (opened) => {
        await checkObserver(opened, observer);
        let count = 0;
        for await (const change of opened.db.pending({ observer, signal: cli.signal })) {
          await cli.print(pendingToJson(opened, change), () =>
            pendingLines(opened, change, cli.environment.now()).map((line) =>
              cutToWidth(line, cli.out.width),
            ),
          );
          if (++count >= limit) break;
        }
        await cli.note(count === 0 ? "nothing is pending" : counted(count, "change"));
      }),
    );
}
