import type { Command } from "commander";
import type { Backlog, Overdue } from "../../../dashboard/index.js";
import {
  type CoordinatorStatus,
  type Database,
  type DatabaseStatus,
  isPostgres,
  type OpenOptions,
} from "../../../database/index.js";
import type { Environment } from "../../../environment/index.js";
import type { PercolatorError } from "../../../errors/index.js";
import type { TableExpiry } from "../../../evolution/index.js";
import type { ObserverRecord } from "../../../observer/index.js";
import type { AttachedTableStatus } from "../../../postgres/index.js";
import {
  type ColumnDescription,
  definition,
  describeTable,
  type TableDescription,
} from "../../../schema/index.js";
import type { Cli } from "../../cli.js";
import { databaseCommand } from "../../command.js";
import { attachedToJson, copyText, pendingText, readAttached } from "../../database/attached.js";
import { countOverdue, countParked, countPending, showCount } from "../../database/backlog.js";
import { placeOf, withDatabase } from "../../database/open-database.js";
import { findAbsence } from "../../database/reach.js";
import { addCoordinatorFlags, type CoordinatorFlags } from "../../input/coordinator-flags.js";
import { counted, layOut, layOutPairs } from "../../print/layout.js";
import { formatDuration, showTimestamp } from "../../time.js";

export function addStatus(program: Command, cli: Cli): void {
  const command = databaseCommand(program, "status", {
    summary: "print observers, backlog, sessions and tables",
    description:
      "Prints the registered observers, with their pending and parked changes and the processes that run them. Prints " +
      "the schedules with their overdue changes, the sessions of workers, the recorded tables, the store, and the " +
      "cluster's coordinator if there is one. With --all it also prints the latest timestamp, the safepoint and the " +
      "store's statistics. Garbage below the safepoint may have been collected. --json always has all of it. If the " +
      "coordinator does not answer, the command prints what the store alone knows, by this machine's clock, and the " +
      "exit code is 1.",
    examples: ["status ./data", "status ./data --all", "status ./data --json"],
    json: [
      '{"store","latestTimestamp","latestTime","safepoint","safepointTime","safepointAgeMs","statistics","tables","observers","schedules","sessions","expiries","attached","coordinator","away"}.',
      "A table is as `schema` prints it. An observer is",
      '{"name","table","column","kind","version","since","pending","oldestPending","parked","sessions","backfills"}. A',
      'count is {"count","more"}: at most 100,000 are counted. A schedule is {"schedule","overdue","oldestOverdue"}. A',
      'session is {"session","observers","expires","process"}. An expiry is {"table","ttlMs","swept","due","expired"}. An',
      "attached table is as `attach --check` prints it. The coordinator is",
      '{"leader","epoch","answers","sessions","busy"}, or null if there never was one; its last three fields are null',
      'if it was not asked. If the coordinator does not answer, "away" says why, and latestTimestamp and latestTime are',
      "null.",
    ],
  });
  addCoordinatorFlags(command)
    .option("--all", "also print timestamps, the safepoint and statistics of the store")
    .action(async (location: string, options: StatusOptions) => {
      const away = await findAbsence(cli, location, options);
      const place = placeOf(location, cli.io.cwd);
      const open = () => (away === undefined ? {} : withoutCoordinator(place, cli.environment));
      await withDatabase(
        cli,
        { reads: true, location, coordinator: options, options: open },
        async ({ db }) => {
          const attached = await readAttached(db, place, undefined);
          const status = { ...(await gather(db, cli.environment.now(), cli.signal, away)), attached };
          await cli.print(statusToJson(status), () => [
            ...statusLines(status, cli.environment.now()),
            ...(options.all ? internalLines(status) : []),
          ]);
        },
      );
      if (away !== undefined) throw away;
    });
}

interface StatusOptions extends CoordinatorFlags {
  readonly all?: boolean | undefined;
}

/**
 * Returns options that open the database without its coordinator, to show what the store alone
 * knows. On Bigtable, which does not assign timestamps, this machine's clock is the oracle. A
 * database opened this way must only read.
 */
function withoutCoordinator(place: string, environment: Environment): OpenOptions {
  if (isPostgres(place)) return { coordinator: false };
  const present = async () => Math.floor(environment.now() * 1_000);
  return { coordinator: false, oracle: { next: present, latest: present } };
}

interface ObserverStatus {
  readonly record: ObserverRecord;
  readonly pending: Backlog;
  readonly parked: Backlog;
  /** Count of the processes that run the observer in its registered version. */
  readonly sessions: number;
}

interface GatheredReports {
  readonly status: DatabaseStatus;
  readonly tables: readonly TableDescription[];
  readonly observers: readonly ObserverStatus[];
  readonly schedules: readonly Overdue[];
  /** The error if the coordinator does not answer. */
  readonly away: PercolatorError | undefined;
  readonly attached: readonly AttachedTableStatus[];
}

async function gather(
  db: Database,
  nowMs: number,
  signal: AbortSignal,
  away: PercolatorError | undefined,
): Promise<Omit<GatheredReports, "attached">> {
  const status = await db.status();
  const tables = [...(await db.tables()).values()].map((table) => describeTable(table[definition]));
  const observers: ObserverStatus[] = [];
  for (const [name, record] of await db.observers()) {
    observers.push({
      record,
      pending: await countPending(db, name, signal),
      parked: await countParked(db, name, signal),
      sessions: [...status.sessions.values()].filter((each) => each.observers[name] === record.version)
        .length,
    });
  }
  return { status, tables, observers, schedules: await countOverdue(db, nowMs, signal), away };
}

function statusToJson({ status, tables, observers, schedules, away, attached }: GatheredReports): object {
  const { store, latestTimestamp, safepoint, safepointAgeMs, statistics } = status;
  return {
    store,
    latestTimestamp: away === undefined ? latestTimestamp : null,
    latestTime: away === undefined ? showTimestamp(latestTimestamp) : null,
    safepoint,
    safepointTime: safepoint === 0 ? null : showTimestamp(safepoint),
    safepointAgeMs: safepointAgeMs === undefined ? null : Math.round(safepointAgeMs),
    statistics,
    tables,
    observers: observers.map(observerToJson),
    schedules: schedules.map(({ schedule, count, more, oldest }) => ({
      schedule,
      overdue: { count, more },
      oldestOverdue: oldest?.toISOString() ?? null,
    })),
    sessions: [...status.sessions].map(([session, record]) => ({
      session,
      observers: record.observers,
      expires: new Date(record.expires).toISOString(),
      process: record.process,
    })),
    expiries: status.expiries.map(({ table, ttlMs, sweptAt, dueAt, expired }) => ({
      table,
      ttlMs,
      swept: sweptAt?.toISOString() ?? null,
      due: dueAt.toISOString(),
      expired,
    })),
    attached: attached.map(attachedToJson),
    coordinator: status.coordinator === undefined ? null : coordinatorToJson(asked(status.coordinator, away)),
    away: away?.message ?? null,
  };
}

/**
 * Returns the coordinator's status. If the coordinator did not answer the check before `open`, the
 * status says so.
 */
function asked(coordinator: CoordinatorStatus, away: PercolatorError | undefined): CoordinatorStatus {
  return away === undefined ? coordinator : { ...coordinator, answers: false };
}

function coordinatorToJson({ leader, epoch, answers, sessions, busy }: CoordinatorStatus): object {
  return {
    leader: leader ?? null,
    epoch,
    answers: answers ?? null,
    sessions: sessions === undefined ? null : [...sessions],
    busy: busy === undefined ? null : [...busy],
  };
}

function coordinatorText(coordinator: CoordinatorStatus): string {
  const { leader, epoch, answers, sessions, busy } = coordinator;
  if (leader === undefined) return `no leader; the last epoch was ${epoch}`;
  const asked =
    answers === undefined
      ? ""
      : answers
        ? `, ${counted(sessions?.size ?? 0, "session")}, ${busy?.size ?? 0} busy`
        : ", does not answer";
  return `${leader}, epoch ${epoch}${asked}`;
}

function observerToJson({ record, pending, parked, sessions }: ObserverStatus): object {
  const { name, table, column, kind, version, since, backfills } = record;
  return {
    name,
    table,
    column,
    kind,
    version,
    since,
    pending: { count: pending.count, more: pending.more },
    oldestPending: pending.oldest?.toISOString() ?? null,
    parked: { count: parked.count, more: parked.more },
    sessions,
    backfills: backfills.map((backfill) => ({ version: backfill.version, marked: backfill.marked })),
  };
}

function statusLines(
  { status, tables, observers, schedules, away, attached }: GatheredReports,
  nowMs: number,
): readonly string[] {
  const { store, sessions } = status;
  const coordinator = status.coordinator && asked(status.coordinator, away);
  return [
    ...section(
      "observers",
      observers.map((each) => observerRow(each, nowMs)),
      [
        { name: "observer" },
        { name: "watches" },
        { name: "version", align: "right" },
        { name: "pending", align: "right" },
        { name: "oldest" },
        { name: "parked", align: "right" },
        { name: "run by" },
      ],
    ),
    ...scheduleLines(schedules, nowMs),
    ...attachedLines(attached),
    ...expiryLines(status.expiries, nowMs),
    "",
    ...section(
      "sessions",
      [...sessions].map(([session, record]) => [session, Object.keys(record.observers).join(", ")]),
      [{ name: "session" }, { name: "observers" }],
    ),
    "",
    ...section("tables", tables.flatMap(tableRows), [
      { name: "table" },
      { name: "column" },
      { name: "codec" },
    ]),
    "",
    ...layOutPairs([
      ["store", store],
      ...(coordinator === undefined ? [] : ([["coordinator", coordinatorText(coordinator)]] as const)),
    ]),
  ];
}

/** The store's internals, which people need only to diagnose a problem. */
function internalLines({ status, away }: GatheredReports) {
  const { latestTimestamp, safepoint, safepointAgeMs, statistics } = status;
  const safepointText =
    safepointAgeMs === undefined
      ? "none: no garbage was collected yet"
      : `${safepoint} (${showTimestamp(safepoint)}, ${formatDuration(safepointAgeMs)} ago)`;
  const figures = Object.entries(statistics).map(([name, value]) => [`  ${name}`, String(value)] as const);
  return [
    ...layOutPairs([
      [
        "latest timestamp",
        away === undefined ? `${latestTimestamp} (${showTimestamp(latestTimestamp)})` : "unknown",
      ],
      ["safepoint", safepointText],
    ]),
    "statistics",
    ...layOutPairs(figures),
  ];
}

function scheduleLines(schedules: readonly Overdue[], nowMs: number): readonly string[] {
  if (schedules.length === 0) return [];
  const rows = schedules.map(({ schedule, oldest, ...backlog }) => [
    schedule,
    showCount(backlog),
    oldest === undefined ? "" : `${formatDuration(Math.max(0, nowMs - oldest.getTime()))} ago`,
  ]);
  const columns = [{ name: "schedule" }, { name: "overdue", align: "right" }, { name: "oldest" }] as const;
  return ["", ...layOut(columns, rows)];
}

function expiryLines(expiries: readonly TableExpiry[], nowMs: number): readonly string[] {
  if (expiries.length === 0) return [];
  const rows = expiries.map(({ table, ttlMs, sweptAt, expired }) => [
    table,
    formatDuration(Math.min(...Object.values(ttlMs))),
    sweptAt === undefined ? "never" : `${formatDuration(Math.max(0, nowMs - sweptAt.getTime()))} ago`,
    sweptAt === undefined ? "" : String(expired),
  ]);
  const columns = [
    { name: "expiring table" },
    { name: "after" },
    { name: "swept" },
    { name: "cells", align: "right" },
  ] as const;
  return ["", ...layOut(columns, rows)];
}

function attachedLines(attached: readonly AttachedTableStatus[]): readonly string[] {
  if (attached.length === 0) return [];
  const rows = attached.map((each) => [
    each.source,
    each.name,
    each.parked === undefined ? copyText(each) : `PARKED since ${each.parked.at.toISOString()}`,
    pendingText(each),
  ]);
  return [
    "",
    ...layOut([{ name: "SQL table" }, { name: "table" }, { name: "state" }, { name: "changes" }], rows),
  ];
}

function section(
  title: string,
  rows: readonly (readonly string[])[],
  columns: Parameters<typeof layOut>[0],
): readonly string[] {
  return rows.length === 0 ? [`no ${title}`] : layOut(columns, rows);
}

function tableRows({ name, key, columns }: TableDescription): readonly (readonly string[])[] {
  const keyRow = key === "text" ? [] : [[name, "(row key)", key]];
  return [
    ...keyRow,
    ...columns.map((column) => [name, column.name, column.kind === "signal" ? "signal" : codecText(column)]),
  ];
}

function codecText({ codec, kind, schema }: ColumnDescription): string {
  return `${codec}${schema ? " with a schema" : ""}${kind === "family" ? ", family" : ""}`;
}

function observerRow(
  { record, pending, parked, sessions }: ObserverStatus,
  nowMs: number,
): readonly string[] {
  const { oldest } = pending;
  const running = sessions === 0 ? "no process" : `${sessions} process${sessions === 1 ? "" : "es"}`;
  return [
    record.name,
    `${record.table}.${record.column}`,
    String(record.version),
    showCount(pending),
    oldest === undefined ? "" : `${formatDuration(Math.max(0, nowMs - oldest.getTime()))} ago`,
    showCount(parked),
    record.backfills.length === 0 ? running : `${running}, backfill in progress`,
  ];
}
