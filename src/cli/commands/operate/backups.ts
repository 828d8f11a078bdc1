import type { Command } from "commander";
import { listBackups, verifyBackups } from "../../../backup/index.js";
import type { Cli } from "../../cli.js";
import { plainCommand } from "../../command.js";
import { backupPlaceOf, storageInput } from "../../input/backup-place.js";
import { exitCodes } from "../../print/exit.js";
import { counted, layOut, oneLine, showBytes } from "../../print/layout.js";
import { Progress } from "../../print/progress.js";
import { showTimestamp } from "../../time.js";

export function addBackups(program: Command, cli: Cli): void {
  plainCommand(
    program,
    "backups",
    {
      summary: "list the backups of a folder, or check them",
      description:
        "Lists the backups in a place, the newest first, with the bytes that a restore reads. Backups share bytes, so " +
        "together they need less. With --verify, reads everything that the backups need and compares it with its " +
        "checksums.",
      examples: ["backups /mnt/backups/data", "backups s3://my-bucket/data --verify"],
      json: [
        'A line for each backup: {"name","takenAt","timestamp","time","totalBytes","source"}. With --verify, one line:',
        '{"sound","backups","problems"}; each problem {"backups","message"}.',
      ],
      exit: ["1 if there are no backups, or if --verify finds a problem."],
    },
    (command) => command.argument("<destination>", "the place that was given to `backup`"),
  )
    .option("--verify", "read the backups and check their checksums")
    .action(async (destination: string, { verify }: { readonly verify?: boolean }) => {
      const place = backupPlaceOf(destination, cli.io.cwd);
      await (verify === true ? check(cli, place) : list(cli, place));
    });
}

async function list(cli: Cli, place: string): Promise<void> {
  const rows: string[][] = [];
  const options = { ...storageInput(cli), signal: cli.signal };
  try {
    for await (const { name, timestamp, totalBytes, source, ...entry } of listBackups(place, options)) {
      const takenAt = new Date(entry.takenAt).toISOString();
      if (cli.json) {
        const time = showTimestamp(timestamp);
        await cli.out.json({ name, takenAt, timestamp, time, totalBytes, source });
      }
      rows.push([takenAt, String(timestamp), showBytes(totalBytes)]);
    }
    if (rows.length === 0) cli.exitCode = exitCodes.data;
  } finally {
    // Also if one is damaged: the others can be restored.
    if (!cli.json && rows.length > 0) await print(cli, rows);
  }
}

async function print(cli: Cli, rows: readonly string[][]): Promise<void> {
  const columns = [
    { name: "taken at" },
    { name: "timestamp", align: "right" },
    { name: "size", align: "right" },
  ] as const;
  for (const line of layOut(columns, rows)) await cli.out.line(line);
}

async function check(cli: Cli, place: string): Promise<void> {
  const progress = new Progress(cli);
  const { backups, problems } = await verifyBackups(place, {
    ...storageInput(cli),
    signal: cli.signal,
    onProgress: (bytes) => progress.show(() => `${showBytes(bytes)} read`),
  }).finally(() => progress.end());
  const sound = problems.length === 0 && backups > 0;
  if (!sound) cli.exitCode = exitCodes.data;
  await cli.print({ sound, backups, problems }, () => [
    ...problems.map(
      ({ backups: hit, message }) => `${oneLine(message)} It concerns ${counted(hit.length, "backup")}.`,
    ),
    problems.length === 0
      ? `${counted(backups, "backup")}, no problems`
      : counted(problems.length, "problem"),
  ]);
}
