import type { Command } from "commander";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { exitCodes } from "../../print/exit.js";
import { counted, oneLine } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";

export function addCheck(program: Command, cli: Cli): void {
  databaseCommand(program, "check", {
    summary: "check every invariant of the protocol in the database",
    description:
      "First reads every page of a folder's file and the checksum of every record, and stops if one is wrong. Then " +
      "reads every cell and checks the invariants: locks, write records, statuses and values agree, and every change " +
      "that an observer has not handled has a hint. The database may be in use. Changes nothing.",
    examples: ["check ./data", "check ./data --json"],
    json: ['{"sound","problems"}; each problem {"invariant","where","message"}. At most 1,000 are listed.'],
    exit: ["1 if there are problems."],
  }).action((location: string) =>
    withDatabase(cli, { reads: true, location }, async ({ db }) => {
      const progress = new Progress(cli);
      const problems = await db
        .check({
          signal: cli.signal,
          onProgress: (cells) =>
            progress.show(() => `${counted(cells, "cell")} checked, ${progress.rate(cells)}`),
        })
        .finally(() => progress.end());
      const sound = problems.length === 0;
      if (!sound) cli.exitCode = exitCodes.data;
      await cli.print({ sound, problems }, () => [
        ...problems.map(({ invariant, where, message }) => `${invariant}: ${oneLine(where)}: ${message}`),
        sound ? "no problems" : counted(problems.length, "problem"),
      ]);
    }),
  );
}
