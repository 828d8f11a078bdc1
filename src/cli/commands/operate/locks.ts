import type { Command } from "commander";
import { throwIfAborted } from "../../../environment/index.js";
import { type LockInfo, showCell } from "../../../transaction/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand, parsedBy } from "../../command.js";
import { withDatabase } from "../../database/open-database.js";
import { counted, oneLine } from "../../print/layout.js";
import { lockToJson } from "../../print/lock-text.js";
import { formatDuration, parseCount } from "../../time.js";

interface LocksOptions {
  readonly resolve?: boolean | undefined;
  readonly limit?: number | undefined;
}

export function addLocks(program: Command, cli: Cli): void {
  databaseCommand(program, "locks", {
    summary: "list the locks of transactions; resolve them",
    description:
      "Lists the locks of two-phase transactions: the cell, the time, the owner, and the cell of the primary lock. A " +
      "lock exists while its transaction commits. If the owner has ended, the next transaction that meets the lock " +
      "resolves it, and so does `gc`. With --resolve, the command rolls the listed locks forward or back now, as the " +
      "primary decides. It leaves locks alone whose owners are alive.",
    examples: ["locks ./data", "locks ./data --resolve", "locks ./data --limit 20 --json"],
    json: [
      'A line for each lock: {"cell","startTimestamp","kind","primary","isPrimary","session","minCommitTimestamp",',
      '"refreshedAt","ttlMs","valueBytes"}. With --resolve also "resolved": false if its owner is alive.',
    ],
  })
    .option("--limit <n>", "at most this many locks", parsedBy(parseCount(1)))
    .option("--resolve", "resolve them, unless their owners are alive")
    .action((location: string, { limit = Number.POSITIVE_INFINITY, resolve = false }: LocksOptions) =>
      withDatabase(cli, { reads: !resolve, location }, async ({ db }) => {
        let count = 0;
        let gone = 0;
        for await (const lock of db.locks({ signal: cli.signal })) {
          throwIfAborted(cli.signal, "Listing locks");
          const resolved = resolve ? (await db.resolve(lock)) === "gone" : undefined;
          if (resolved) gone++;
          await cli.print({ ...lockToJson(lock), resolved }, () =>
            lockLines(lock, cli.environment.now(), resolved),
          );
          if (++count >= limit) break;
        }
        const listed = count === 0 ? "no locks" : counted(count, "lock");
        await cli.note(resolve && count > 0 ? `${listed}, ${gone} resolved` : listed);
      }),
    );
}

function lockLines(lock: LockInfo, nowMs: number, resolved: boolean | undefined): readonly string[] {
  const { kind, startTimestamp, session, isPrimary, refreshedAt, ttlMs } = lock;
  const ageMs = nowMs - refreshedAt.getTime();
  const state = ageMs > ttlMs ? "expired" : "alive";
  return [
    oneLine(showCell(lock.cell)),
    `  ${kind} of the transaction at ${startTimestamp}, session ${session}`,
    `  ${state}, refreshed ${formatDuration(ageMs)} ago, time to live ${formatDuration(ttlMs)}`,
    `  primary: ${isPrimary ? "this cell" : oneLine(showCell(lock.primary))}`,
    ...(resolved === undefined ? [] : [resolved ? "  resolved" : "  left alone: its owner is alive"]),
  ];
}
