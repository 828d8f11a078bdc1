import type { Database } from "../../database/index.js";
import { throwIfAborted } from "../../environment/index.js";
import { SchemaError } from "../../errors/index.js";
import { type AnyTable, definition } from "../../schema/index.js";
import { quoteText, type Setting, statement } from "../../store/postgres/index.js";
import { checkLockOptions, type LockOptions, runWithBriefLock } from "./brief-lock.js";
import { settingToWrite } from "./changes/attached.js";
import { purge } from "./changes/outbox.js";
import { declaredColumns, declaredKey, type Recorded, readAttachments } from "./table/attachment.js";
import { outboxDefinition, removal, triggersDefinition } from "./table/definition.js";
import { checkOtherDatabases, stillUnshared } from "./table/other-database.js";
import { checkOutboxOwner, checkPrivileges, checkTriggers } from "./table/privileges.js";
import { qualifiedName } from "./table/qualified-name.js";
import { type AttachedSource, needSource } from "./table/source.js";
import { fittingTable, type SqlColumn, type SqlTable } from "./table/sql-table.js";

/**
 * Installs the triggers of attached tables, and lets workers copy the rows that exist. Writers wait
 * for a moment only. Call it once, and again after a migration of the SQL tables or of `columns`:
 * then all rows are compared, and a parked table goes on. The role must own the SQL tables, and be
 * able to create tables in the database's schema.
 *
 * @throws SchemaError if an SQL table does not exist or does not fit its declaration, if it is attached
 * to a database in another schema, if the role lacks a privilege, or if a table was not made by
 * `attach`. Nothing was changed.
 * @throws StoreError if other transactions held the table all the time. It names them.
 * @throws AbortedError if `signal` was aborted.
 *
 * @example
 * await using db = await open("postgres://app@localhost/shop", { tables: [orders] });
 * await attachTables(db, [orders]);
 */
export async function attachTables(
  database: Database,
  tables: readonly AnyTable[],
  options: LockOptions = {},
): Promise<void> {
  const setting = settingToWrite("attachTables", database);
  checkLockOptions(options);
  const sources = tables.map(needSource);
  const planned = [];
  for (const source of sources) planned.push({ source, table: await fittingTable(setting, source) });
  await checkNames(setting, sources);
  await checkPrivileges(setting, sources);
  for (const { sql } of sources) await checkOtherDatabases(setting, sql);
  const { schema } = setting;
  await makeOutbox(setting, options);
  for (const { source, table } of planned) {
    const recorded = recordOf(source, table);
    const id = await reserve(setting, source);
    const { sql } = source;
    const doing = `install the triggers of ${sql}`;
    const what = { doing, sql, blocking: "writers" } as const;
    try {
      await runWithBriefLock(setting, attachment(schema, source, id, recorded), what, options);
    } catch (error) {
      await checkOtherDatabases(setting, sql);
      throw error;
    }
    await purgeAll(setting, options);
  }
}

/**
 * Removes the triggers of an attached table, and its pending changes. The cells stay, so that
 * {@link attachTables} can compare them later. `table` may also be the SQL table's name, for a table
 * that no program declares any more.
 *
 * @throws SchemaError if the table was not made by `attach`, if a name is not attached, or if the
 * role may not remove the triggers. Nothing was changed.
 * @throws StoreError if other transactions held the table all the time. It names them.
 * @throws AbortedError if `signal` was aborted.
 *
 * @example
 * await detachTable(db, "public.orders");
 */
export async function detachTable(
  database: Database,
  table: AnyTable | string,
  options: LockOptions = {},
): Promise<void> {
  const setting = settingToWrite("detachTable", database);
  checkLockOptions(options);
  const sql = typeof table === "string" ? qualifiedName(table).sql : needSource(table).sql;
  const attachments = await readAttachments(setting);
  const found = attachments.find((each) => each.sql === sql);
  if (found === undefined) {
    if (typeof table !== "string") return;
    const known =
      attachments.length === 0
        ? "No table is."
        : `Attached: ${attachments.map((each) => each.sql).join(", ")}.`;
    throw new SchemaError(`${sql} is not attached to this database. ${known}`);
  }
  await checkOutboxOwner(setting);
  await checkTriggers(setting, sql);
  await makeOutbox(setting, options);
  const what = { doing: `remove the triggers of ${sql}`, sql, blocking: "readers and writers" } as const;
  const { connections, schema } = setting;
  // From here on nobody moves its changes. The row goes last, so that a call that fails can be repeated.
  const mark = `update ${schema}.attachments set parked_at = now(), error = ${quoteText(detaching)} where id = ${found.id};`;
  await runWithBriefLock(setting, `${removal(schema, found.id)}\n${mark}`, what, options);
  await purgeAll(setting, options);
  // Unless another process has attached it again meanwhile.
  const remove = statement(`delete from ${schema}.attachments where id = $1::integer and error = $2`);
  await connections.repeat(remove, [found.id, detaching], "detach a table");
}

/** What a detached table is parked with until its changes are deleted. */
const detaching = "`detachTable` removed its triggers, and did not end. Repeat it.";

/** Throws if the name of a table here is that of another attached table. */
async function checkNames(setting: Setting, sources: readonly AttachedSource[]): Promise<void> {
  const taken = new Map((await readAttachments(setting)).map(({ name, sql }) => [name, sql]));
  for (const { sql, target } of sources) {
    const { name } = target[definition];
    const other = taken.get(name) ?? sql;
    if (other !== sql) {
      throw new SchemaError(
        `${JSON.stringify(name)} is the name of ${other} already. Give ${sql} another with the option \`name\`. ` +
          `If ${sql} replaces ${other}, or is its new name, detach ${other} first: the cells stay.`,
      );
    }
    taken.set(name, sql);
  }
}

function recordOf(source: AttachedSource, { relation, keyConstraint, file, columns }: SqlTable): Recorded {
  const keyColumns = columns
    .filter(({ keyPlace }) => keyPlace !== undefined)
    .sort((a, b) => a.keyPlace! - b.keyPlace!);
  const needed = new Set([...keyColumns.map(({ name }) => name), ...source.columnNames]);
  const ofNeeded = <T>(of: (column: SqlColumn) => T | undefined) =>
    Object.fromEntries(
      columns.flatMap((column) => {
        const value = needed.has(column.name) ? of(column) : undefined;
        return value === undefined ? [] : [[column.name, value] as const];
      }),
    );
  return {
    relation,
    keyColumns: keyColumns.map(({ name }) => name),
    keyConstraint,
    keyTypes: keyColumns.map(({ cast }) => cast),
    keyTags: declaredKey(source),
    hasTupleKey: source.target[definition].key.tag !== "text",
    columns: declaredColumns(source),
    shape: ofNeeded(({ shape }) => shape),
    hasTypeSchemas: true,
    enums: ofNeeded(({ typeNames }) => typeNames.labels),
    attributes: ofNeeded(({ typeNames }) => typeNames.attributes),
    storage: { file, columns: ofNeeded(({ definedBy }) => definedBy) },
  };
}

/** The number of a table. Until {@link attachment} has run, a new table is not attached. */
async function reserve({ connections, schema }: Setting, source: AttachedSource): Promise<number> {
  const { name } = source.target[definition];
  const rows = await connections.repeat(
    statement(
      // The update changes nothing. It also returns a row that another process has made just now.
      `insert into ${schema}.attachments (source, name, definition) values ($1, $2, '')
       on conflict (source) do update set source = excluded.source returning id`,
    ),
    [source.sql, name],
    `attach ${source.sql}`,
  );
  return Number(rows[0]![0]);
}

/**
 * Records a table and installs its triggers, in one transaction. No writer is under way while it
 * holds the table's lock, so that all earlier changes have a number up to `since`. They may lack a
 * new column. The comparison that begins now reads these rows.
 *
 * A detach may have deleted the reserved row meanwhile. Then it is made again under its number.
 */
function attachment(schema: string, source: AttachedSource, id: number, recorded: Recorded): string {
  const keys = recorded.keyColumns.map((name, i) => ({ name, type: recorded.keyTypes[i]! }));
  const sequence = `pg_get_serial_sequence(${quoteText(`${schema}.outbox`)}, 'seq')`;
  return `
lock table ${source.sql} in share row exclusive mode;
${stillUnshared(schema, source.sql)}
${triggersDefinition(schema, source.sql, id, keys)}
${removal(schema, String(id), source.sql)}
insert into ${schema}.attachments as a (id, source, name, definition, generation, since) overriding system value
  values (${id}, ${quoteText(source.sql)}, ${quoteText(source.target[definition].name)}, ${quoteText(JSON.stringify(recorded))},
    pg_current_xact_id()::text::bigint, coalesce(pg_sequence_last_value(${sequence}::regclass), 0))
  on conflict (id) do update set name = excluded.name, definition = excluded.definition,
    generation = greatest(a.generation + 1, excluded.generation), since = excluded.since, error = null, parked_at = null;`;
}

async function purgeAll(setting: Setting, { signal }: LockOptions): Promise<void> {
  while (await purge(setting)) throwIfAborted(signal, "Deleting obsolete changes");
}

/** Makes the outbox, or brings it up to date. */
async function makeOutbox(setting: Setting, options: LockOptions): Promise<void> {
  const { schema, connections } = setting;
  const random = () => connections.environment.random();
  const what = {
    doing: "make the outbox of attached tables",
    sql: `${schema}.outbox`,
    blocking: "readers and writers",
  } as const;
  await runWithBriefLock(setting, outboxDefinition(schema, random), what, options);
}
