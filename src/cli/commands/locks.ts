import type { Command } from "commander";
import { type LockInfo, showCell } from "../../transaction/index.js";
import type { Cli } from "../cli.js";
import { databaseCommand, parsedBy } from "../command.js";
import { counted, oneLine } from "../layout.js";
import { lockToJson } from "../lock-text.js";
import { withDatabase } from "../open-database.js";
import { formatDuration, parseCount } from "../time.js";

interface LocksOptions {
  readonly limit?: number | undefined;
}

export function addLocks(program: Command, cli: Cli): void {
  databaseCommand(program, "locks", {
    summary: "list the locks that stand",
    description:
      "Lists the locks of two-phase transactions: which cell, since when, whose, and where the primary is. A lock stands " +
      "while its transaction commits; one whose owner ended is resolved by whoever meets it, and by `gc`.",
    examples: ["locks ./data", "locks ./data --limit 20 --json"],
    json: [
      'A line for each lock: {"cell","startTimestamp","kind","primary","isPrimary","session","minCommitTimestamp",',
      '"refreshedAt","ttlMs","valueBytes"}.',
    ],
  })
    .option("--limit <n>", "the most locks", parsedBy(parseCount(1)))
    .action((location: string, { limit = Number.POSITIVE_INFINITY }: LocksOptions) =>
      withDatabase(cli, { location }, async ({ db }) => {
        let count = 0;
        for await (const lock of db.locks({ signal: cli.signal })) {
          await cli.print(lockToJson(lock), () => lockLines(lock, cli.environment.now()));
          if (++count >= limit) break;
        }
        await cli.note(count === 0 ? "no locks" : counted(count, "lock"));
      }),
    );
}

function lockLines(lock: LockInfo, nowMs: number): readonly string[] {
  const { kind, startTimestamp, session, isPrimary, refreshedAt, ttlMs } = lock;
  const ageMs = nowMs - refreshedAt.getTime();
  const state = ageMs > ttlMs ? "expired" : "alive";
  return [
    oneLine(showCell(lock.cell)),
    `  ${kind} of the transaction at ${startTimestamp}, session ${session}`,
    `  ${state}, refreshed ${formatDuration(ageMs)} ago, lives ${formatDuration(ttlMs)}`,
    `  primary: ${isPrimary ? "this cell" : oneLine(showCell(lock.primary))}`,
  ];
}
