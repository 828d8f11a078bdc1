import type { Command } from "commander";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { counted } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { parseDuration, showTimestamp } from "../../time.js";

interface GcOptions {
  readonly retention?: number | undefined;
}

export function addGc(program: Command, cli: Cli): void {
  databaseCommand(program, "gc", {
    summary: "collect garbage now",
    description:
      "Drops versions that no snapshot within the retention can see, and resolves locks of transactions that began " +
      "before that time. With the recorded retention, other processes can keep running: their open transactions and " +
      "snapshots hold the collection back. On Bigtable, give a shorter retention only while no other process uses the " +
      "database: a late request could bring deleted data back.",
    examples: ["gc ./data", "gc ./data --retention 0", "gc ./data --retention 24h --json"],
    json: ['{"safepoint","time","cellsSeen","locksResolved","versionsDropped","durationMs"}'],
  })
    .option(
      "--retention <duration>",
      "how much history to keep (default: what the database has recorded)",
      parsedBy(parseDuration),
    )
    .action((location: string, { retention }: GcOptions) =>
      withDatabase(cli, { location }, async ({ db }) => {
        const progress = new Progress(cli);
        const report = await db
          .collect({
            retentionMs: retention,
            signal: cli.signal,
            onProgress: ({ cellsSeen, versionsDropped }) =>
              progress.show(
                () =>
                  `${counted(cellsSeen, "cell")} seen, ${counted(versionsDropped, "version")} dropped, ${progress.rate(cellsSeen)}`,
              ),
          })
          .finally(() => progress.end());
        const time = showTimestamp(report.safepoint);
        const durationMs = Math.round(progress.elapsedMs);
        await cli.print({ ...report, time, durationMs }, () => [
          `${counted(report.versionsDropped, "version")} dropped, ${counted(report.cellsSeen, "cell")} seen, ` +
            `${counted(report.locksResolved, "lock")} resolved in ${durationMs} ms`,
          `safepoint: ${report.safepoint} (${time})`,
        ]);
      }),
    );
}
