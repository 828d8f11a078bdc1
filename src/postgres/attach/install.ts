import type { Database } from "../../database/index.js";
import { sleep } from "../../environment/index.js";
import { SchemaError, type StoreError } from "../../errors/index.js";
import { type AnyTable, definition } from "../../schema/index.js";
import { type Setting, statement } from "../../store/postgres/index.js";
import { needSetting } from "./attached.js";
import { outboxDefinition, removal, triggersDefinition } from "./definition.js";
import { type AttachedSource, attachedSource } from "./source.js";
import { columnTypes, keyTypes } from "./values.js";

/** A column of an SQL table. */
interface SqlColumn {
  readonly name: string;
  /** The type's name, or `enum`. */
  readonly type: string;
  /** The type as a cast writes it. */
  readonly cast: string;
  /** The place in the primary key, from 1. Undefined if it is no part of it. */
  readonly keyPlace: number | undefined;
}

/** The triggers need a lock for a moment. Other writers wait behind the request meanwhile. */
const attempts = 50;
const pauseMs = 200;
const lockNotAvailable = "55P03";

/**
 * Installs the triggers of attached tables, and lets workers copy the rows that exist. Writers wait
 * for a moment only. Call it once, and again after a migration of the SQL tables or of `columns`:
 * then the rows are compared again. The role needs to own the SQL tables, or `SELECT` and `TRIGGER`
 * on them and to be able to alter them.
 *
 * @throws SchemaError if an SQL table does not exist or does not fit its declaration, or if a table
 * was not made by `attach`. Nothing was changed.
 * @throws StoreError if the role lacks a privilege, or if the table was locked all the time.
 *
 * @example
 * await using db = await open("postgres://app@localhost/shop", { tables: [orders] });
 * await attachTables(db, [orders]);
 */
export async function attachTables(database: Database, tables: readonly AnyTable[]): Promise<void> {
  const setting = needSetting({ store: database.openedStore });
  const planned = [];
  for (const table of tables) {
    const source = needSource(table);
    planned.push({ source, columns: await fittingColumns(setting, source) });
  }
  const { connections, schema } = setting;
  await connections.script(outboxDefinition(schema), "make the outbox of attached tables");
  for (const { source, columns } of planned) {
    const keyColumns = columns
      .filter(({ keyPlace }) => keyPlace !== undefined)
      .sort((a, b) => a.keyPlace! - b.keyPlace!);
    const { key } = source.target[definition];
    const recorded = {
      keyColumns: keyColumns.map(({ name }) => name),
      keyTypes: keyColumns.map(({ cast }) => cast),
      keyTags: keyTagsOf(source),
      hasTupleKey: key.tag !== "text",
    };
    const id = await record(setting, source, JSON.stringify(recorded));
    await install(setting, triggersDefinition(schema, source.sql, id, recorded.keyColumns), source);
    // Pending changes may lack a new column. The comparison that begins now reads these rows.
    await database.transact((tx) => tx.setNote(`attached/${id}/copied`, undefined));
    const remove = statement(`delete from ${schema}.outbox where attachment = $1::integer`);
    await connections.repeat(remove, [id], "delete pending changes");
    await database.transact((tx) => tx.setNote(`attached/${id}/copied`, undefined));
  }
}

/**
 * Removes the triggers of an attached table, and its pending changes. The cells stay, so that
 * {@link attachTables} can compare them later.
 */
export async function detachTable(database: Database, table: AnyTable): Promise<void> {
  const setting = needSetting({ store: database.openedStore });
  const source = needSource(table);
  const { connections, schema } = setting;
  await connections.script(outboxDefinition(schema), "make the outbox of attached tables");
  await install(setting, removal(source.sql), source);
  await connections.repeat(
    statement(
      `with gone as (delete from ${schema}.attachments where source = $1 returning id)
       delete from ${schema}.outbox where attachment in (select id from gone)`,
    ),
    [source.sql],
    "detach a table",
  );
}

function needSource(table: AnyTable): AttachedSource {
  const source = attachedSource(table[definition]);
  if (source !== undefined) return source;
  throw new SchemaError(`Table ${table[definition].name} was not declared with \`attach\`.`);
}

async function record(
  { connections, schema }: Setting,
  source: AttachedSource,
  text: string,
): Promise<number> {
  const { name } = source.target[definition];
  const rows = await connections.repeat(
    statement(
      `insert into ${schema}.attachments (source, name, definition) values ($1, $2, $3)
       on conflict (source) do update set definition = excluded.definition returning id, name`,
    ),
    [source.sql, name, text],
    `attach ${source.sql}`,
  );
  return Number(rows[0]![0]);
}

async function install({ connections }: Setting, script: string, source: AttachedSource): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      // One round trip is one transaction, which holds its lock for as long as it runs.
      await connections.script(script, `install the triggers of ${source.sql}`);
      return;
    } catch (error) {
      const { code } = ((error as StoreError).cause ?? {}) as { readonly code?: unknown };
      if (code !== lockNotAvailable || attempt === attempts) throw error;
      await sleep(connections.environment, pauseMs);
    }
  }
}

function keyTagsOf({ target }: AttachedSource): readonly string[] {
  const { tag } = target[definition].key;
  return /^tuple\((.*)\)$/.exec(tag)?.[1]?.split(",") ?? [tag];
}

/** The SQL table's columns. Throws if they do not fit the declaration. */
async function fittingColumns(setting: Setting, source: AttachedSource): Promise<readonly SqlColumn[]> {
  const { sql, target } = source;
  const columns = await readColumns(setting, sql);
  const byName = new Map(columns.map((column) => [column.name, column]));
  const defined = target[definition];
  for (const { name, codec } of defined.columns.values()) {
    const column = byName.get(name);
    if (column === undefined) {
      throw new SchemaError(
        `${sql} has no column ${JSON.stringify(name)}. Its columns: ${[...byName.keys()].join(", ")}.`,
      );
    }
    const { tag } = codec!;
    if (!(tag in columnTypes)) {
      throw new SchemaError(
        `${sql}, column ${name}: a column of an attached table cannot be ${tag}. Use one of ${Object.keys(columnTypes).join(", ")}.`,
      );
    }
    const fitting = columnTypes[tag];
    if (fitting?.includes(column.type) === false) throw unfit(sql, column, tag, fitting);
  }
  const tags = keyTagsOf(source);
  const keys = columns.filter(({ keyPlace }) => keyPlace !== undefined);
  if (keys.length !== tags.length) {
    throw new SchemaError(
      keys.length === 0
        ? `${sql} has no primary key, so its rows have no key here. Add one.`
        : `The primary key of ${sql} has ${keys.length} columns, but \`key\` has ${tags.length} parts.`,
    );
  }
  for (const column of keys) {
    const tag = tags[column.keyPlace! - 1]!;
    const fitting = keyTypes[tag] ?? [];
    if (!fitting.includes(column.type)) throw unfit(sql, column, `a key part ${tag}`, fitting);
  }
  return columns;
}

function unfit(sql: string, { name, cast }: SqlColumn, tag: string, fitting: readonly string[]): SchemaError {
  const list = fitting.length === 0 ? "no type of SQL" : fitting.join(", ");
  return new SchemaError(
    `${sql}, column ${name}: its type ${cast} does not fit ${tag}, which takes ${list}.`,
  );
}

async function readColumns({ connections }: Setting, sql: string): Promise<readonly SqlColumn[]> {
  const doing = `look at ${sql}`;
  const [kind] = await connections.repeat(
    statement(
      `select relkind, relhassubclass, relispartition or exists (select from pg_inherits where inhrelid = c.oid)
       from pg_class c where oid = to_regclass($1)`,
    ),
    [sql],
    doing,
  );
  if (kind === undefined) throw new SchemaError(`There is no table ${sql} in this database of PostgreSQL.`);
  if (kind[0] !== "r" || kind[1] === "t" || kind[2] === "t") {
    const what: Readonly<Record<string, string>> = {
      v: "a view",
      m: "a materialized view",
      f: "a foreign table",
      p: "a partitioned table",
      r: "a part of another table, or has parts",
    };
    throw new SchemaError(`${sql} is ${what[kind[0]!] ?? "no table"}. Only ordinary tables can be attached.`);
  }
  const rows = await connections.repeat(
    statement(
      `select a.attname, case when t.typtype = 'e' then 'enum' else t.typname end, format_type(a.atttypid, a.atttypmod),
         (select k.place from pg_index i, unnest(i.indkey::smallint[]) with ordinality k(attnum, place)
          where i.indrelid = a.attrelid and i.indisprimary and k.attnum = a.attnum)
       from pg_attribute a join pg_type t on t.oid = a.atttypid
       where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    ),
    [sql],
    doing,
  );
  return rows.map(([name, type, cast, place]) => ({
    name: name!,
    type: type!,
    cast: cast!,
    keyPlace: place === null ? undefined : Number(place),
  }));
}
