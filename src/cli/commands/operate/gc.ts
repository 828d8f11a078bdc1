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
      "First deletes the cells that have expired (ttlMs of a table), by transactions, so observers run. Then drops versions that no snapshot within the retention can see, and resolves locks of transactions that began " +
      "before that time. With the recorded retention, other processes can keep running: their open transactions and " +
      "snapshots hold the collection back. On Bigtable, give a shorter retention only while no other process uses the " +
      "database: a late request could bring deleted data back.",
    examples: ["gc ./data", "gc ./data --retention 0", "gc ./data --retention 24h --json"],
    json: ['{"safepoint","time","cellsSeen","locksResolved","versionsDropped","cellsExpired","durationMs"}'],
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
            onProgress: ({ cellsSeen, versionsDropped, cellsExpired }) =>
              progress.show(
                () =>
                  `${counted(cellsSeen, "cell")} seen, ${cellsExpired} expired, ${counted(versionsDropped, "version")} dropped, ${progress.rate(cellsSeen)}`,
              ),
          })
          .finally(() => progress.end());
        const time = showTimestamp(report.safepoint);
        const durationMs = Math.round(progress.elapsedMs);
        await cli.print({ ...report, time, durationMs }, () => [
          `${counted(report.versionsDropped, "version")} dropped, ${counted(report.cellsSeen, "cell")} seen, ` +
            `${counted(report.locksResolved, "lock")} resolved in ${durationMs} ms`,
          ...(report.cellsExpired === 0 ? [] : [`${counted(report.cellsExpired, "cell")} expired`]),
          `safepoint: ${report.safepoint}${time === "" ? "" : ` (${time})`}`,
        ]);
      }),
    );
}
