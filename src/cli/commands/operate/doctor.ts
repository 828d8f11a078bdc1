import type { Command } from "commander";
import type { Overdue } from "../../../dashboard/index.js";
import { type Database, isPostgres, type StrayRecord } from "../../../database/index.js";
import { CoordinatorError, OracleUnavailableError, PercolatorError } from "../../../errors/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { readAttached } from "../../database/attached.js";
import { countOverdue, showCount } from "../../database/backlog.js";
import { type OpenedDatabase, placeOf, withDatabase } from "../../database/open-database.js";
import { findAbsence } from "../../database/reach.js";
import { examineAttached } from "../../doctor/attached.js";
import { type Finding, joinEqual, ok, problem, warning } from "../../doctor/finding.js";
import { examineFolder } from "../../doctor/folder.js";
import { examineLocks, examineWriteLock } from "../../doctor/locks.js";
import { examineMachine } from "../../doctor/machine.js";
import { examineCatalog } from "../../doctor/observers.js";
import { budgetFinding, examinePostgresServer } from "../../doctor/postgres.js";
import { examineStore, type StoreFacts } from "../../doctor/store.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { exitCodes } from "../../print/exit.js";
import { counted, layOutPairs, oneLine } from "../../print/layout.js";
import { formatDuration } from "../../time.js";
import { UsageError } from "../../usage-error.js";

interface DoctorOptions extends CoordinatorFlags {
  readonly write?: boolean | undefined;
}

const overdueMs = 60_000;

export function addDoctor(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "doctor", {
    summary: "look for problems, and say what to do",
    description:
      "Examines versions, permissions, disk and limits, the store, clocks, the coordinator, tables and observers, " +
      "locks, the safepoint, parked changes and attached SQL tables. For each problem it says what to do. With the module of an application, " +
      "it also compares the module with what the database has recorded. A folder that this process can only read is a " +
      "warning, and with --write a problem. On PostgreSQL it also examines the server: version, settings, role and " +
      "privileges, connections, pooler, old transactions, bloat and standbys. Changes nothing, except with --write. `check` examines the data itself.",
    examples: [
      "doctor ./data",
      "doctor ./data ./app.ts",
      "doctor 'postgres://app@localhost/shop?schema=search' ./app.ts",
      "doctor bigtable://my-project/my-instance --write --json",
    ],
    json: [
      '{"healthy","findings"}; each finding {"check","state":"ok"|"warning"|"problem","what","advice"}.',
    ],
    exit: ["1 if there is a problem; 0 if there are only warnings."],
  });
  addCoordinatorFlags(command)
    .argument("[app]", "JavaScript or TypeScript module that default-exports { tables, observers }")
    .option(
      "--write",
      "also commit two transactions, to test whether this account may write; they leave no data",
    )
    .action(async (location: string, app: string | undefined, options: DoctorOptions) => {
      const findings = await examine(cli, location, app, options);
      const problems = findings.filter(({ state }) => state === "problem").length;
      if (problems > 0) cli.exitCode = exitCodes.data;
      const document = {
        healthy: problems === 0,
        findings: findings.map((finding) => ({ ...finding, advice: finding.advice ?? null })),
      };
      await cli.print(document, () => findingLines(joinEqual(findings), findings));
    });
}

async function examine(
  cli: Cli,
  location: string,
  app: string | undefined,
  options: DoctorOptions,
): Promise<readonly Finding[]> {
  const place = placeOf(location, cli.io.cwd);
  const isFolder = !place.startsWith("bigtable:") && !isPostgres(place);
  const findings: Finding[] = [...(await examineMachine(isFolder))];
  if (isFolder) findings.push(...(await examineFolder(place, options.write === true)));
  const { facts, findings: ofServer } = await examinePostgresServer(
    place,
    options.write === true,
    cli.environment,
  );
  findings.push(...ofServer);
  // Without an answer, everything else would fail for the same reason.
  if (isPostgres(place) && facts === undefined) return findings;
  try {
    const away = await findAbsence(cli, location, options);
    // A store on PostgreSQL assigns timestamps itself, so the checks need no coordinator.
    if (away !== undefined && !isPostgres(place)) throw away;
    const open = () => (away === undefined ? {} : { coordinator: false as const });
    const request = { location, app, coordinator: options, reads: options.write !== true, options: open };
    await withDatabase(cli, request, async (opened) => {
      const assignsTimestamps = !place.startsWith("bigtable:");
      const kind = { isFolder, assignsTimestamps, away };
      for await (const finding of examineDatabase(cli, opened, kind, options)) findings.push(finding);
      findings.push(...examineAttached(await readAttached(opened.db, place, opened.app)));
      if (facts !== undefined) findings.push(budgetFinding(facts, (await opened.db.status()).sessions.size));
    });
  } catch (error) {
    // A module that does not load, or a signal that ends the command, says nothing about the
    // database. Neither is a finding.
    if (error instanceof UsageError || cli.signal.aborted || !(error instanceof PercolatorError)) throw error;
    const isCoordinator = error instanceof OracleUnavailableError || error instanceof CoordinatorError;
    const check = isCoordinator ? "coordinator" : "store";
    findings.push(
      problem(
        check,
        `${error.message} (${error.code})`,
        "The remaining checks need this. Repair it, and run doctor again.",
      ),
    );
  }
  return findings;
}

async function* examineDatabase(
  cli: Cli,
  { db, app }: OpenedDatabase,
  { isFolder, ...kind }: { readonly isFolder: boolean } & Pick<StoreFacts, "assignsTimestamps" | "away">,
  { write }: DoctorOptions,
): AsyncGenerator<Finding> {
  const { signal, environment } = cli;
  const status = await db.status();
  const timestamp = await presentTimestamp(db, signal);
  const nowMs = environment.now();
  yield* examineStore({ status, ...kind, timestamp, nowMs });
  if (isFolder) {
    const holder = async () => {
      const { statistics } = await db.status();
      return {
        process: statistics.writeLockHeldByProcess ?? 0,
        transactions: statistics.transactions ?? 0,
      };
    };
    yield await examineWriteLock(environment, holder, signal);
  }
  if (write) yield await examineWriting(db, signal);
  yield await examineLocks(db, nowMs, signal);
  yield* examineRecords(await db.strayRecords());
  yield* await examineCatalog({ db, status, app, nowMs, signal });
  for (const each of await countOverdue(db, nowMs, signal)) yield scheduleFinding(each, nowMs);
}

/**
 * Reports the records of processes in the store that every reader ignores: records that cannot be
 * read, and records whose expiry lies too far in the future.
 */
function* examineRecords(stray: readonly StrayRecord[]): Generator<Finding> {
  if (stray.length === 0) yield ok("records", "all records of processes are readable and expire soon");
  for (const { where, message } of stray) {
    const advice =
      "Synchronize the clocks by NTP. The next worker, or `percolator gc`, removes the record. Until then every process ignores it.";
    yield warning("records", `${where}: ${message}`, advice);
  }
}

/**
 * Judges the overdue changes of one schedule. Workers look for due changes once a second. If a
 * change stays overdue, no worker runs the schedule, or the change fails.
 */
function scheduleFinding({ schedule, oldest, ...backlog }: Overdue, nowMs: number): Finding {
  const check = `schedule ${schedule}`;
  if (oldest === undefined) return ok(check, "nothing is overdue");
  const what = `${showCount(backlog)} overdue, the oldest for ${formatDuration(Math.max(0, nowMs - oldest.getTime()))}`;
  if (nowMs - oldest.getTime() < overdueMs) return ok(check, what);
  return warning(check, what, "Start a worker whose module exports the schedule in `schedules`.");
}

async function presentTimestamp(db: Database, signal: AbortSignal): Promise<number> {
  await using snapshot = await db.snapshot({ signal });
  return snapshot.timestamp;
}

async function examineWriting(db: Database, signal: AbortSignal): Promise<Finding> {
  try {
    const label = "percolator doctor";
    await db.transact((tx) => tx.setNote("doctor", new Uint8Array(0)), { label, signal });
    await db.transact((tx) => tx.setNote("doctor", undefined), { label, signal });
    return ok("writing", "two transactions were committed");
  } catch (error) {
    if (signal.aborted) throw error;
    const message = error instanceof Error ? error.message : String(error);
    return problem(
      "writing",
      message,
      "Check whether this account may write (docs/operations.md, Permissions).",
    );
  }
}

function findingLines(shown: readonly Finding[], all: readonly Finding[]): readonly string[] {
  const rows = layOutPairs(
    shown.map(({ check, state }) => [state === "ok" ? "ok" : state.toUpperCase(), check]),
  );
  const width = Math.max(...rows.map((row) => row.length));
  const lines = shown.flatMap(({ what, advice }, index) => [
    `${rows[index]!.padEnd(width)}  ${oneLine(what)}`,
    ...(advice === undefined ? [] : [`    ${advice}`]),
  ]);
  const found = (state: Finding["state"]) => all.filter((each) => each.state === state).length;
  return [...lines, "", `${counted(found("problem"), "problem")}, ${counted(found("warning"), "warning")}`];
}
