import type { Database } from "../../database/index.js";
import { sha256, sleep, throwIfAborted, unlessAborted } from "../../environment/index.js";
import { checkDatabase, checkOptionNames, SchemaError, StoreError } from "../../errors/index.js";
import { type AnyTable, definition } from "../../schema/index.js";
import {
  checkWritable,
  type Held,
  quoteSchema,
  quoteText,
  type Setting,
  settingOf,
  statement,
} from "../../store/postgres/index.js";
import { quoteName } from "../attach/table/definition.js";
import {
  type Existing,
  encodeMark,
  type Mark,
  readExisting,
  readIndex,
  readMarks,
  readSupport,
} from "./existing.js";
import { viewFunctions } from "./functions.js";
import type {
  PostgresView,
  PostgresViewsOptions,
  PostgresViewsProgress,
  PostgresViewsReport,
} from "./options.js";
import { checkDistinct, checkNamed, checkTable, type PlannedView, planViews, wordsOf } from "./plan.js";
import { indexColumns, indexCondition } from "./view-sql.js";

/** How long a change of views waits for statements that read them. */
const lockTimeout = "5s";

const schemaComment = "percolatordb views";

const optionNames = {
  schema: true,
  indexes: true,
  removeOthers: true,
  dryRun: true,
  views: true,
  keys: true,
  signal: true,
  onProgress: true,
} as const;

/** What must be done, in order. */
interface Work {
  /** One transaction. */
  readonly first: string;
  /** Each by itself, outside a transaction: `create index concurrently` needs that. */
  readonly alone: readonly string[];
  /** One transaction. */
  readonly last: string;
}

/**
 * Makes SQL views over tables of a database on PostgreSQL, typed by their codecs, so that plain SQL,
 * an ORM or a BI tool reads them. A view shows what a transaction that begins now would read. Call it
 * in a migration, and again when the tables have changed: views keep who may read them.
 *
 * The role must own the database's tables. It makes an index for each table while writers go on,
 * which may take minutes for a large database.
 *
 * @throws SchemaError if the database is not on PostgreSQL, if a table is attached or unknown to the
 * database, if two names clash, if `views` or `keys` name something else, or if something else has the
 * name of a view. Nothing was changed.
 * @throws StoreError if the role lacks a privilege, or if another object depends on a view whose
 * columns have changed.
 *
 * @example
 * await using db = await open("postgres://owner@localhost/shop?schema=search", { tables: [totals] });
 * await postgresViews(db, [totals], { keys: { totals: ["customer"] } });
 * // select total from search_views.totals where customer = 'c1'
 */
export async function postgresViews(
  database: Database,
  tables: readonly AnyTable[],
  options: PostgresViewsOptions = {},
): Promise<PostgresViewsReport> {
  checkOptionNames("postgresViews", options, optionNames);
  const { dryRun = false, indexes = true, removeOthers = false, signal, onProgress } = options;
  const setting = needSetting("postgresViews", database, dryRun);
  const target = targetOf(setting, options.schema);
  for (const table of tables) checkTable(table);
  await checkEncoding(setting);
  // Gives a number to tables that no program has written to.
  if (!dryRun) await database.openedStore.prepare(tables.map((table) => table[definition].name));
  const planned: PlannedView[] = [];
  for (const table of tables) {
    const number = await numberOf(setting, table);
    planned.push(...planViews(table, number, setting.schema, options));
  }
  checkNamed(tables, planned, options);
  checkDistinct(planned);
  const existing = await readExisting(setting, target.sql);
  const views: PostgresView[] = [];
  const changes: string[] = [];
  for (const view of planned) {
    const { state, script } = changeOf(target, view, existing.get(view.name));
    views.push({ name: view.name, table: view.table, family: view.family, state });
    changes.push(script);
  }
  const kept = new Set(planned.map(({ name }) => name));
  const others = [...existing.values()].filter(({ name }) => !kept.has(name));
  if (removeOthers) {
    for (const { name, mark } of others.filter(({ isOwn }) => isOwn)) {
      views.push({ name, table: mark!.table, family: mark!.family, state: "removed" });
      changes.push(`drop view ${target.sql}.${quoteName(name)};\n`);
    }
  }
  const sources = new Map(planned.map(({ source }) => [source.table, source]));
  const alone: string[] = [];
  if (indexes) {
    if ((await readIndex(setting, "view_locks")) !== "valid") {
      alone.push(`drop index concurrently if exists ${setting.schema}.view_locks`);
      alone.push(
        `create index concurrently if not exists view_locks on ${setting.schema}.cells (tbl) where part = 0`,
      );
    }
    for (const source of sources.values()) {
      const name = `view_${source.table}`;
      const state = await readIndex(setting, name, indexColumns(source));
      if (state === "valid") continue;
      // A build that was interrupted leaves an index that nobody uses.
      if (state !== "missing") alone.push(`drop index concurrently if exists ${setting.schema}.${name}`);
      alone.push(
        `create index concurrently if not exists ${name} on ${setting.schema}.cells (${indexColumns(source)}) where ${indexCondition(source)}`,
      );
    }
    // The planner needs to know how many keys there are.
    if (alone.length > 0) alone.push(`analyze ${setting.schema}.cells`);
  }
  const hasSchema = existing.size > 0 || (await schemaExists(setting, target.sql));
  const create = `create schema if not exists ${target.sql};\ncomment on schema ${target.sql} is ${quoteText(schemaComment)};\n`;
  const work: Work = {
    first: viewFunctions(setting.schema),
    alone,
    last: `${hasSchema ? "" : create}${changes.join("")}`,
  };
  if (!dryRun) await run(setting, work, signal, onProgress);
  return { schema: target.name, views, sql: textOf(setting, work) };
}

/**
 * Removes all views that {@link postgresViews} made for this database in the schema, and the indexes
 * and functions that no other view needs.
 *
 * @throws StoreError if another object depends on a view. Nothing was removed.
 *
 * @example
 * await dropPostgresViews(db);
 */
export async function dropPostgresViews(
  database: Database,
  options: Pick<PostgresViewsOptions, "schema" | "dryRun" | "signal"> = {},
): Promise<PostgresViewsReport> {
  checkOptionNames("dropPostgresViews", options, { schema: true, dryRun: true, signal: true });
  const setting = needSetting("dropPostgresViews", database, options.dryRun === true);
  const target = targetOf(setting, options.schema);
  const existing = await readExisting(setting, target.sql);
  const gone = [...existing.values()].filter(({ isOwn }) => isOwn);
  const s = setting.schema;
  const left = (await readMarks(setting)).filter(({ schema }) => schema !== target.name);
  // Those that a call that was interrupted has left too.
  const { indexes, hasFunctions } = await readSupport(setting);
  const needed = new Set(left.flatMap(({ mark }) => [`view_${mark.number}`, "view_locks"]));
  const drops = gone.map(({ name }) => `drop view ${target.sql}.${quoteName(name)};\n`).join("");
  const work: Work = {
    first: `${drops}${dropEmptySchema(target.sql)}`,
    alone: indexes
      .filter((name) => !needed.has(name))
      .map((name) => `drop index concurrently if exists ${s}.${name}`),
    last: left.length > 0 || !hasFunctions ? "" : dropFunctions(s),
  };
  const isDone = gone.length === 0 && work.alone.length === 0 && work.last === "";
  if (options.dryRun !== true && !isDone) await run(setting, work, options.signal);
  return {
    schema: target.name,
    views: gone.map(({ name, mark }) => ({
      name,
      table: mark!.table,
      family: mark!.family,
      state: "removed",
    })),
    sql: isDone ? "" : textOf(setting, work),
  };
}

function needSetting(call: string, database: Database, onlyReads: boolean): Setting {
  checkDatabase(call, database);
  const setting = settingOf(database.openedStore);
  if (setting !== undefined) {
    if (!onlyReads) checkWritable(setting, `run \`${call}\``);
    return setting;
  }
  throw new SchemaError(
    `SQL views need a database on PostgreSQL. ${database.openedStore.description} is not one.`,
  );
}

interface Target {
  readonly name: string;
  readonly sql: string;
}

function targetOf({ schema }: Setting, name = `${unquoted(schema)}_views`): Target {
  const sql = quoteSchema(name);
  if (sql !== schema) return { name, sql };
  throw new SchemaError(
    `The schema ${sql} has the database itself, and nothing else may be in it. Give the views another one with \`schema\`.`,
  );
}

const unquoted = (name: string) => name.slice(1, -1).replaceAll('""', '"');

async function checkEncoding({ connections }: Setting): Promise<void> {
  const rows = await connections.repeat(statement("show server_encoding"), [], "ask for its encoding");
  const encoding = rows[0]![0];
  if (encoding === "UTF8") return;
  throw new SchemaError(
    `Views need a database of PostgreSQL with the encoding UTF8, because they show text as it is. ${connections.place} has ${encoding}.`,
  );
}

async function numberOf({ connections, schema }: Setting, table: AnyTable): Promise<number> {
  const { name } = table[definition];
  const find = statement(`select id from ${schema}.tables where name = $1`);
  const rows = await connections.repeat(find, [name], `look up the table ${name}`);
  if (rows[0] !== undefined) return Number(rows[0][0]);
  throw new SchemaError(
    `Table ${name} is unknown to the database at ${connections.place}. It gets a number when a program writes to it, or when views are made without \`dryRun\`.`,
  );
}

async function schemaExists({ connections }: Setting, sql: string): Promise<boolean> {
  const find = statement("select to_regnamespace($1) is not null");
  return (await connections.repeat(find, [sql], "look for a schema"))[0]![0] === "t";
}

/** The statements that make a view what it must be. */
function changeOf(
  target: Target,
  view: PlannedView,
  before: Existing | undefined,
): { readonly state: PostgresView["state"]; readonly script: string } {
  const sql = `${target.sql}.${quoteName(view.name)}`;
  const digest = sha256(view.query).slice(0, 16);
  const { table, family } = view;
  if (
    before !== undefined &&
    (!before.isOwn || before.mark?.table !== table || before.mark.family !== family)
  ) {
    const what =
      before.mark === undefined ? "not a view of this package" : `the view of ${wordsOf(before.mark)}`;
    throw new SchemaError(
      `${sql} exists, and is ${what}. Rename or remove it, or give the view of ${wordsOf(view)} another name or schema.`,
    );
  }
  if (before?.mark?.digest === digest) return { state: "unchanged", script: "" };
  const mark: Mark = { table, family, number: view.source.table, digest };
  const isLonger = before?.columns.every(
    ([name, type], i) => view.columns[i]?.name === name && view.columns[i]?.type === type,
  );
  const drop = before !== undefined && isLonger !== true ? `drop view ${sql};\n` : "";
  const grants = drop === "" ? "" : grantsOf(sql, view, before!);
  return {
    state: before === undefined ? "created" : "changed",
    script: `${drop}create or replace view ${sql} as\n${view.query};\ncomment on view ${sql} is ${quoteText(encodeMark(mark))};\n${grants}`,
  };
}

/** The statements that let the readers of a view read the one that replaces it. */
function grantsOf(sql: string, { columns }: PlannedView, { readers, columnReaders }: Existing): string {
  const kept = columnReaders.filter(([column]) => columns.some(({ name }) => name === column));
  return [
    ...readers.map((reader) => `grant select on ${sql} to ${reader};\n`),
    ...kept.map(([column, reader]) => `grant select (${quoteName(column)}) on ${sql} to ${reader};\n`),
  ].join("");
}

const makesIndex = (text: string) => text.startsWith("create index");
const tellEveryMs = 1_000;

/**
 * Tells how far the server is with the index that it makes, until `signal` is aborted. Rejects only
 * with what `onProgress` throws.
 */
async function tell(
  { connections, schema }: Setting,
  onProgress: (progress: Pick<PostgresViewsProgress, "share" | "waitsFor">) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = statement(
    `select p.blocks_done, p.blocks_total, nullif(p.current_locker_pid, 0), coalesce(a.application_name, '')
     from pg_stat_progress_create_index p left join pg_stat_activity a on a.pid = p.current_locker_pid
     where p.relid = to_regclass($1) and p.datname = current_database()`,
  );
  for (;;) {
    let row: readonly (string | null)[] | undefined;
    try {
      await sleep(connections.environment, tellEveryMs, signal, "Telling the progress");
      [row] = await connections.repeat(query, [`${schema}.cells`], "ask for the progress of an index");
    } catch {
      // The index is made, or its maker will say what is wrong.
      return;
    }
    if (row === undefined || signal.aborted) continue;
    const [done, total, pid, program] = row;
    const share = Number(total) > 0 ? Number(done) / Number(total) : undefined;
    await onProgress({
      share,
      waitsFor: pid === null ? undefined : `${pid}${program === "" ? "" : ` (${program})`}`,
    });
  }
}

async function run(
  setting: Setting,
  work: Work,
  signal: AbortSignal | undefined,
  onProgress?: (progress: PostgresViewsProgress) => void,
): Promise<void> {
  const { connections, schema } = setting;
  throwIfAborted(signal, "Making views");
  await connections.script(locked(schema, work.first), "make the functions of views");
  const indexes = work.alone.filter(makesIndex);
  for (const each of work.alone) {
    throwIfAborted(signal, "Making views");
    const over = new AbortController();
    let held: Held | undefined;
    let thrown: { readonly error: unknown } | undefined;
    try {
      held = await connections.hold();
      // No deadline: an index of a large table takes minutes.
      const waited = [held.run(each)];
      if (onProgress !== undefined && makesIndex(each)) {
        const place = { index: indexes.indexOf(each) + 1, of: indexes.length };
        const told = tell(setting, (more) => onProgress({ ...place, ...more }), over.signal).catch(
          (error) => {
            thrown = { error };
            throw error;
          },
        );
        waited.push(told.then(() => waited[0]!));
      }
      await unlessAborted(Promise.race(waited), signal, "Making views");
    } catch (cause) {
      throwIfAborted(signal, "Making views");
      if (thrown !== undefined) throw thrown.error;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StoreError(
        `PostgreSQL could not prepare the views' indexes (${connections.place}): ${reason}. Correct that, and call it again.`,
        { cause },
      );
    } finally {
      over.abort();
      held?.end();
    }
  }
  if (work.last !== "") await connections.script(locked(schema, work.last), "make the views");
}

/** A script that others wait for. Reading a catalog tells its session what those before it have made. */
function locked(schema: string, script: string): string {
  return `set local lock_timeout = '${lockTimeout}';
select pg_advisory_xact_lock(hashtextextended(${quoteText(`percolatordb views ${schema}`)}, 0));
select from pg_namespace limit 0;
${script}`;
}

function textOf({ schema }: Setting, { first, alone, last }: Work): string {
  const transaction = (script: string) => (script === "" ? "" : `begin;\n${locked(schema, script)}commit;\n`);
  return `${transaction(first)}${alone.map((each) => `${each};\n`).join("")}${transaction(last)}`;
}

function dropEmptySchema(sql: string): string {
  return `do $f$ begin
  if obj_description(to_regnamespace(${quoteText(sql)}), 'pg_namespace') = ${quoteText(schemaComment)} then
    drop schema ${sql};
  end if;
exception when dependent_objects_still_exist then null;
end $f$;
`;
}

function dropFunctions(schema: string): string {
  const names = [...viewFunctions("s").matchAll(/create or replace function s\.(view_\w+)\(/g)];
  return names.map(([, name]) => `drop function if exists ${schema}.${name};\n`).join("");
}
