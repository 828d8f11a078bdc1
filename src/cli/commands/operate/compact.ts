import type { Command } from "commander";
import { compact } from "../../../backup/index.js";
import type { Cli } from "../../cli.js";
import { plainCommand } from "../../command.js";
import { cannotWrite, placeOf } from "../../database/open-database.js";
import { counted, showBytes } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { formatDuration, showTimestamp } from "../../time.js";

export function addCompact(program: Command, cli: Cli): void {
  plainCommand(
    program,
    "compact",
    {
      summary: "copy a folder into one that is as small as possible",
      description:
        "The file of a folder never gets smaller: what `gc`, `drop` or expiry frees is used again. This command copies " +
        "the newest state into another folder, with all versions, full pages and no free ones. It changes nothing in " +
        "the first folder. To use the copy in its place, end all processes that have the database open, run the " +
        "command, and rename the folders: commits after it began are not in the copy. Run `gc` first, so that the copy " +
        "lacks what is no longer needed. The next backup of the copy is a full one.",
      examples: ["compact ./data ./compacted"],
      json: ['{"timestamp","time","records","bytesBefore","bytes","endedSessions","durationMs"}'],
      exit: ["1 if the first folder is damaged (STORE_DAMAGED), or if the other one is not empty (BACKUP)."],
    },
    (command) =>
      command
        .argument("<location>", "the folder of the database")
        .argument("<destination>", "a folder that is empty or does not exist"),
  ).action((location: string, destination: string) => run(cli, location, destination));
}

async function run(cli: Cli, location: string, destination: string): Promise<void> {
  const progress = new Progress(cli);
  const place = placeOf(location, cli.io.cwd);
  const report = await compact(place, placeOf(destination, cli.io.cwd), {
    environment: cli.environment,
    readOnly: await cannotWrite(place),
    signal: cli.signal,
    onProgress: (done, of) =>
      progress.show(() => `${counted(done, "record")} of ${of}${progress.left(done / of)}`),
  }).finally(() => progress.end());
  const time = showTimestamp(report.timestamp);
  await cli.print({ ...report, time }, () => [
    `${destination} has the database of ${location} with all commits up to ${report.timestamp} (${time})`,
    `${showBytes(report.bytes)} instead of ${showBytes(report.bytesBefore)}, ${counted(report.records, "record")}, ${formatDuration(report.durationMs)}`,
  ]);
}
