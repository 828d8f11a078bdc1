import type { Command } from "commander";
import { restore } from "../../../backup/index.js";
import type { Cli } from "../../cli.js";
import { parsedBy, plainCommand } from "../../command.js";
import { placeOf } from "../../database/open-database.js";
import { backupPlaceOf, storageInput } from "../../input/backup-place.js";
import { showBytes } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration, parseMoment, showTimestamp } from "../../time.js";

interface RestoreCommandOptions {
  readonly at?: number | Date | undefined;
}

export function addRestore(program: Command, cli: Cli): void {
  plainCommand(
    program,
    "restore",
    {
      summary: "restore a folder from a backup",
      description:
        "Writes the database of a backup into a folder that is empty or does not exist, and compares everything with " +
        "its checksums. With --at, restores the newest backup that was taken at that date or before, or that has no " +
        "commits after that timestamp, and says which state that is. Workers on the restored folder continue with what was due in that state. Commits after it are " +
        "gone, and their timestamps are not given out again.",
      examples: [
        "restore /mnt/backups/data ./data",
        "restore s3://my-bucket/data ./data --at 2026-01-31T12:00:00Z",
      ],
      json: [
        '{"name","takenAt","timestamp","time","nextTakenAt","bytes","endedSessions","durationMs"}; "nextTakenAt" is null',
        "if the newest backup was restored.",
      ],
      exit: [
        "1 if there is no such backup (BACKUP), if a part of it is missing or damaged (BACKUP_DAMAGED), or if the folder is not empty.",
      ],
    },
    (command) =>
      command
        .argument("<source>", "the place that was given to `backup`")
        .argument("<location>", "a folder that is empty or does not exist"),
  )
    .option("--at <time>", "the newest backup at or before a timestamp or an ISO date", parsedBy(parseMoment))
    .action((source: string, location: string, options: RestoreCommandOptions) =>
      run(cli, source, location, options),
    );
}

async function run(cli: Cli, source: string, location: string, { at }: RestoreCommandOptions): Promise<void> {
  const progress = new Progress(cli);
  const report = await restore(backupPlaceOf(source, cli.io.cwd), placeOf(location, cli.io.cwd), {
    ...storageInput(cli),
    at,
    signal: cli.signal,
    onProgress: (done, of) =>
      progress.show(() => `${showBytes(done)} of ${showBytes(of)} read${progress.left(done / of)}`),
  }).finally(() => progress.end());
  const takenAt = new Date(report.takenAt).toISOString();
  const nextTakenAt = report.nextTakenAt === undefined ? null : new Date(report.nextTakenAt).toISOString();
  const time = showTimestamp(report.timestamp);
  await cli.print({ ...report, takenAt, time, nextTakenAt }, () => [
    `${location} is as it was at ${takenAt}: commits up to ${report.timestamp} (${time})`,
    nextTakenAt === null ? "the newest backup" : `the next backup was taken at ${nextTakenAt}`,
    `${showBytes(report.bytes)}, ${formatDuration(report.durationMs)}`,
  ]);
}
