import type { Database } from "../../database/index.js";
import type { AnyTable } from "../../schema/index.js";
import { definition } from "../../schema/index.js";
import { plannedEachTime, type Setting } from "../../store/postgres/index.js";
import { settingOfDatabase } from "./changes/attached.js";
import { readCursor } from "./copy/copy.js";
import { type Attachment, driftOf, isSameDeclaration, readAttachments } from "./table/attachment.js";
import { lackingGrants } from "./table/functions-owner.js";
import { checkOtherDatabases } from "./table/other-database.js";
import { checkPrivileges } from "./table/privileges.js";
import { type AttachedSource, attachedSource } from "./table/source.js";
import { fittingTable } from "./table/sql-table.js";

type Snapshot = Awaited<ReturnType<Database["snapshot"]>>;

/** How an attached table is. */
export interface AttachedTableStatus {
  /** The SQL table, quoted. */
  readonly source: string;
  /** The table's name in this library. */
  readonly name: string;
  /** Whether its triggers are installed. */
  readonly isAttached: boolean;
  /** Since when the table is parked, and why. Undefined if it is not. */
  readonly parked: { readonly at: Date; readonly error: string } | undefined;
  /** What does not fit between the declaration, the SQL table and its triggers. Empty if all fits. */
  readonly problems: readonly string[];
  /** Count of the logged changes that no worker has moved, up to `maxPending`. */
  readonly pending: number;
  /** When the SQL transaction of the oldest of these began, by the server's clock. */
  readonly oldestPending: Date | undefined;
  /** Milliseconds since then, by the server's clock. */
  readonly oldestPendingAgeMs: number | undefined;
  readonly copy: {
    /** `copy`: rows are copied. `prune`: rows are deleted that SQL no longer has. */
    readonly phase: "copy" | "prune" | "done";
    readonly rows: number;
    /** The server's estimate of all rows. Undefined if it has none. */
    readonly estimatedRows: number | undefined;
  };
}

/** Options of {@link attachedTables}. */
export interface AttachedTablesOptions {
  /** How many changes of each table are counted at most. Default: 100,000. */
  readonly maxPending?: number | undefined;
}

/**
 * How the attached tables of a database are. Changes nothing. `tables`: the program's tables, to
 * also compare their declarations and this role's privileges. A declared table that is not attached
 * is in the list.
 *
 * @throws SchemaError if the database is not on PostgreSQL.
 * @throws StoreError if the server cannot be asked.
 *
 * @example
 * for (const { source, parked } of await attachedTables(db)) if (parked) console.warn(source, parked.error);
 */
export async function attachedTables(
  database: Database,
  tables: readonly AnyTable[] = [],
  { maxPending = 100_000 }: AttachedTablesOptions = {},
): Promise<readonly AttachedTableStatus[]> {
  const setting = settingOfDatabase("attachedTables", database);
  const sources = tables
    .map((table) => attachedSource(table[definition]))
    .filter((each) => each !== undefined);
  const attachments = await readAttachments(setting);
  const found: AttachedTableStatus[] = [];
  const snapshot = await database.snapshot();
  try {
    for (const attachment of attachments) {
      const source = sources.find(({ sql }) => sql === attachment.sql);
      found.push(await statusOf(snapshot, setting, attachment, source, maxPending));
    }
  } finally {
    await snapshot.close();
  }
  for (const source of sources) {
    if (!attachments.some(({ sql }) => sql === source.sql)) found.push(await notAttached(setting, source));
  }
  return found;
}

async function statusOf(
  snapshot: Snapshot,
  setting: Setting,
  attachment: Attachment,
  source: AttachedSource | undefined,
  maxPending: number,
): Promise<AttachedTableStatus> {
  const { sql, name, recorded, parked, shape, estimatedRows, ownerAccess } = attachment;
  const problems: string[] = [];
  const drift = recorded === undefined ? undefined : driftOf(attachment);
  if (recorded === undefined) problems.push(`${sql} is not attached: its triggers could not be installed.`);
  if (drift !== undefined) problems.push(drift);
  const lacking = ownerAccess && lackingGrants(sql, ownerAccess);
  if (lacking !== undefined) problems.push(lacking);
  if (source !== undefined && recorded !== undefined && !isSameDeclaration(source, attachment)) {
    problems.push(`The program declares other columns of ${sql}, or another key or name, than are attached.`);
  }
  if (source !== undefined && shape !== undefined) problems.push(...(await misfits(setting, source)));
  const { phase, rows = 0 } = await readCursor(snapshot, attachment);
  return {
    source: sql,
    name,
    isAttached: recorded !== undefined,
    parked: parked && { at: new Date(parked.at), error: parked.error },
    problems: [...new Set(problems)],
    ...(recorded === undefined || parked !== undefined
      ? nothing
      : await waiting(setting, attachment, maxPending)),
    copy: { phase, rows, estimatedRows },
  };
}

const nothing = { pending: 0, oldestPending: undefined, oldestPendingAgeMs: undefined };

async function waiting({ connections, schema }: Setting, { id, since }: Attachment, maxPending: number) {
  // In the order of the index, so that the count of a large outbox ends at its bound.
  const count = plannedEachTime(
    `select count(*), round(extract(epoch from min(at)) * 1000),
       round(extract(epoch from clock_timestamp() - min(at)) * 1000)
     from (select o.at from ${schema}.outbox o
       where o.attachment = $1::integer and o.seq > $2::bigint order by o.xid, o.seq limit $3::integer) o`,
  );
  const values = [id, since, maxPending];
  const [[pending, oldest, age] = []] = await connections.repeat(count, values, "count changes");
  return {
    pending: Number(pending),
    oldestPending: typeof oldest === "string" ? new Date(Number(oldest)) : undefined,
    oldestPendingAgeMs: typeof age === "string" ? Math.max(0, Number(age)) : undefined,
  };
}

async function notAttached(setting: Setting, source: AttachedSource): Promise<AttachedTableStatus> {
  return {
    source: source.sql,
    name: source.target[definition].name,
    isAttached: false,
    parked: undefined,
    problems: [`${source.sql} is not attached.`, ...(await misfits(setting, source))],
    ...nothing,
    copy: { phase: "copy", rows: 0, estimatedRows: undefined },
  };
}

/** Why a table cannot be attached as it is declared. Empty if it can. */
async function misfits(setting: Setting, source: AttachedSource): Promise<readonly string[]> {
  const found: string[] = [];
  const checks = [
    () => fittingTable(setting, source),
    () => checkPrivileges(setting, [source]),
    () => checkOtherDatabases(setting, source.sql),
  ];
  for (const check of checks) {
    await check().catch((error: unknown) =>
      found.push(error instanceof Error ? error.message : String(error)),
    );
  }
  return found;
}
