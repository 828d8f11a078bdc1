import type { Command } from "commander";
import {
  type BackupFailure,
  type BackupProgress,
  type BackupReport,
  backup,
  followBackup,
} from "../../../backup/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { cannotWrite, placeOf } from "../../database/open-database.js";
import { backupPlaceOf, storageInput } from "../../input/backup-place.js";
import { describeFailure } from "../../print/failure.js";
import { counted, showBytes } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration, parseCount, parseDuration, showTimestamp } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface BackupOptions {
  readonly follow?: boolean | undefined;
  readonly every?: number | undefined;
  readonly keep?: number | undefined;
  readonly keepFor?: number | undefined;
}

const leastEveryMs = 100;

export function addBackup(program: Command, cli: Cli): void {
  databaseCommand(program, "backup", {
    summary: "back up a folder while it is in use, once or continuously",
    description:
      "Copies one committed state of the folder to another place: all cells with their versions, what observers have " +
      "handled and what is due. The first backup copies everything. Each later one copies the pages that have changed " +
      "since, compressed, and is restored as a whole. With --follow, makes a backup every 10 s until it is stopped. A " +
      "machine that is lost then loses the commits of the last interval at most, and of the time that a backup takes. " +
      "A backup that is killed leaves the earlier ones intact.",
    examples: [
      "backup ./data /mnt/backups/data",
      "backup ./data /mnt/backups/data --follow --every 30s --keep-for 7d",
      "backup ./data s3://my-bucket/data --keep 14 --json",
    ],
    json: [
      'A line for each backup: {"kind","name","takenAt","timestamp","time","pages","bytes","totalBytes","deleted",',
      '"durationMs"}; "kind" is "full", "changes" or "unchanged". With --follow, a failure after the first backup is',
      '{"kind":"failed","code","message"}.',
    ],
    exit: ["With --follow, 130 or 143 after a signal, as for every command."],
  })
    .argument("<destination>", "a folder for the backups of this database, or s3://BUCKET/PREFIX")
    .option("--follow", "make backups until SIGINT or SIGTERM")
    .option(
      "--every <duration>",
      "with --follow: from the beginning of one backup to that of the next (default: 10s)",
      parsedBy(parseDuration),
    )
    .option("--keep <count>", "keep the newest backups, and delete others", parsedBy(parseCount(1)))
    .option(
      "--keep-for <duration>",
      "keep the backups that are younger, and delete others; with --keep, those that neither keeps",
      parsedBy(parseDuration),
    )
    .action((location: string, destination: string, options: BackupOptions) =>
      run(cli, location, destination, options),
    );
}

async function run(
  cli: Cli,
  location: string,
  destination: string,
  { follow, every, keep, keepFor }: BackupOptions,
): Promise<void> {
  if (every !== undefined && follow !== true) throw new UsageError("--every is for --follow: add it.");
  if (every !== undefined && every < leastEveryMs) {
    throw new UsageError(`--every must be at least ${leastEveryMs}ms.`);
  }
  const place = placeOf(location, cli.io.cwd);
  const progress = new Progress(cli);
  const where = backupPlaceOf(destination, cli.io.cwd);
  const backupOptions = {
    ...storageInput(cli),
    readOnly: await cannotWrite(place),
    keep,
    keepForMs: keepFor,
    signal: cli.signal,
    onProgress: ({ pages, of, bytes }: BackupProgress) =>
      progress.show(() => {
        const share = of === undefined ? undefined : pages / of;
        return `${counted(pages, "page")} read, ${showBytes(bytes)} stored${progress.left(share)}`;
      }),
  };
  try {
    if (follow !== true) {
      await print(cli, progress, await backup(place, where, backupOptions));
      return;
    }
    for await (const done of followBackup(place, where, { ...backupOptions, everyMs: every })) {
      cli.isEndless = true;
      await print(cli, progress, done);
    }
  } finally {
    progress.end();
  }
}

async function print(cli: Cli, progress: Progress, done: BackupReport | BackupFailure): Promise<void> {
  progress.end();
  if (done.kind === "failed") {
    const { code, message } = describeFailure(done.error);
    await cli.print({ kind: done.kind, code, message }, () => [`failed, trying again: ${message} (${code})`]);
    return;
  }
  const takenAt = new Date(done.takenAt).toISOString();
  await cli.print({ ...done, takenAt, time: showTimestamp(done.timestamp) }, () => [lineOf(done, takenAt)]);
}

function lineOf({ kind, pages, bytes, deleted, durationMs }: BackupReport, takenAt: string): string {
  const gone = deleted === 0 ? "" : `, ${counted(deleted, "older backup")} deleted`;
  if (kind === "unchanged") return `unchanged since the backup of ${takenAt}${gone}`;
  const what = kind === "full" ? "all pages" : counted(pages, "changed page");
  return `backup of ${takenAt}: ${what}, ${showBytes(bytes)}, ${formatDuration(durationMs)}${gone}`;
}
