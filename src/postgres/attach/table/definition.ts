import { quoteText } from "../../../store/postgres/index.js";

/** The trigger of a table. Triggers fire in the order of their names, and this one must be first. */
export const triggerName = "!percolatordb";

export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** What a session has set must not change what is logged. */
const settings = [
  "search_path = pg_catalog, pg_temp",
  "timezone = 'UTC'",
  "datestyle = 'ISO, YMD'",
  "intervalstyle = 'postgres'",
  "extra_float_digits = 1",
  "bytea_output = 'hex'",
  "lc_monetary = 'C'",
]
  .map((each) => `set ${each}`)
  .join(" ");

/**
 * The outbox of a schema, as a script that may be repeated, also on tables that an earlier version
 * made. Writers of attached tables need no privileges on it: the trigger's functions run as their
 * owner. Nobody else may make triggers of them, because such a trigger could log changes that never
 * were.
 *
 * Attachments are numbered from a random number on. The triggers of a schema that was renamed write to the
 * outbox of a schema that has its old name now, where their numbers must belong to no other table.
 */
export function outboxDefinition(schema: string, random: () => number): string {
  const name = (what: string) => quoteText(`${schema}.${what}`);
  return `
select pg_advisory_xact_lock(hashtextextended(${quoteText(schema)} || ' outbox', 0));
create table if not exists ${schema}.attachments (
  id integer generated always as identity (start with ${1 + Math.floor(random() * 2 ** 30)}) primary key,
  source text not null unique,
  name text not null unique,
  definition text not null,
  generation bigint not null default 0,
  since bigint not null default 0,
  parked_at timestamptz,
  error text
);
create table if not exists ${schema}.outbox (
  seq bigint generated always as identity (cache 1) primary key,
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default now(),
  attachment integer not null,
  op "char" not null,
  content json
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);
do ${quoteText(`begin
  if to_regclass(${name("outbox_xid_seq")}) is not null then return; end if;
  alter table ${schema}.attachments add column if not exists generation bigint not null default 0;
  alter table ${schema}.attachments add column if not exists since bigint not null default 0;
  alter table ${schema}.attachments add column if not exists parked_at timestamptz;
  alter table ${schema}.attachments add column if not exists error text;
  alter table ${schema}.outbox add column if not exists at timestamptz not null default now();
  create index outbox_xid_seq on ${schema}.outbox (xid, seq);
  drop index if exists ${schema}.outbox_xid;
end`)};
create or replace function ${schema}.attached_row(r anyelement) returns json
  language plpgsql stable ${settings} as ${quoteText("begin return to_json(r); end")};
create or replace function ${schema}.log_row() returns trigger
  language plpgsql security definer ${settings} as ${quoteText(logRow(schema))};
create or replace function ${schema}.log_truncate() returns trigger
  language plpgsql security definer ${settings} as ${quoteText(`begin
  insert into ${schema}.outbox (attachment, op) values (tg_argv[0]::integer, 't');
  return null;
end`)};
revoke all on function ${schema}.log_row(), ${schema}.log_truncate() from public;
`;
}

/**
 * Logs a row. A trigger of the application may write another row of the same table before the
 * trigger of that row has fired: then this trigger's row is not the newest. The function notices
 * such a write by its depth, and logs the row as it now is.
 *
 * The functions' owner reads that row. If it may not, or if the table has no primary key to find the row
 * by, the function logs that it does not know (`x`), and the mover parks the table. A row that
 * row-level security hides would look deleted. The key is compared twice: its own collation finds it in
 * the index, and may take two texts for equal.
 */
function logRow(schema: string): string {
  return `
declare
  attachment constant integer := tg_argv[0];
  has_old constant boolean := tg_op = 'DELETE' or tg_argv[1] = 'moved';
  depth constant integer := pg_trigger_depth();
  deepest constant integer := coalesce(nullif(current_setting('percolatordb.depth_' || tg_argv[0], true), ''), '0');
  look text;
  old_content json;
  new_content json;
begin
  if depth > 1 and depth > deepest then
    perform set_config('percolatordb.depth_' || tg_argv[0], depth::text, true);
  end if;
  if deepest <= depth then
    if has_old then
      insert into ${schema}.outbox (attachment, op, content) values (attachment, 'd', to_json(old));
    end if;
    if tg_op <> 'DELETE' then
      insert into ${schema}.outbox (attachment, op, content) values (attachment, 's', to_json(new));
    end if;
    return null;
  end if;
  select format('select to_json(t.*) from %s t where ', tg_relid::regclass) || string_agg(
      format('t.%1$I = ($1).%1$I', a.attname)
        || case when a.attcollation <> 0 then format(' and t.%1$I = ($1).%1$I collate "C"', a.attname) else '' end,
      ' and ') into look
    from pg_index i, unnest(i.indkey::smallint[]) with ordinality k(attnum, place), pg_attribute a
    where i.indrelid = tg_relid and i.indisprimary and k.place <= i.indnkeyatts
      and a.attrelid = tg_relid and a.attnum = k.attnum;
  begin
    if look is null or row_security_active(tg_relid) then
      raise insufficient_privilege;
    end if;
    if has_old then
      execute look into old_content using old;
    end if;
    if tg_op <> 'DELETE' then
      execute look into new_content using new;
    end if;
  exception when syntax_error_or_access_rule_violation then
    insert into ${schema}.outbox (attachment, op) values (attachment, 'x');
    return null;
  end;
  if has_old then
    insert into ${schema}.outbox (attachment, op, content)
      values (attachment, case when old_content is null then 'd' else 's' end, coalesce(old_content, to_json(old)));
  end if;
  if tg_op <> 'DELETE' then
    insert into ${schema}.outbox (attachment, op, content)
      values (attachment, case when new_content is null then 'd' else 's' end, coalesce(new_content, to_json(new)));
  end if;
  return null;
end`;
}

/** A column of a primary key, and its type as a cast writes it. */
export interface KeyColumn {
  readonly name: string;
  readonly type: string;
}

/**
 * The triggers of a table, as a script that may be repeated. Rows are compared by their stored
 * form, because not every type has an equality. A changed key is a trigger of its own: it follows
 * renamed columns, and the function needs no column's name. Keys are compared so that `pg_dump` prints a
 * condition that can be restored, and texts byte by byte, because a collation may take two for equal.
 */
export function triggersDefinition(
  schema: string,
  source: string,
  attachment: number,
  keyColumns: readonly KeyColumn[],
): string {
  const part = (row: string, { name, type }: KeyColumn) =>
    `${row}.${quoteName(name)}${/^("text"|text|character varying)(\(\d+\))?$/.test(type) ? ' collate pg_catalog."C"' : ""}`;
  const isMoved = keyColumns
    .map((column) => `${part("old", column)} is distinct from ${part("new", column)}`)
    .join(" or ");
  const of = (what: string) => quoteName(`${triggerName} ${what}`);
  const log = `${schema}.log_row('${attachment}'`;
  // Replacing a trigger needs a weaker lock than dropping it: readers go on.
  return `
create or replace trigger ${of("row")} after insert or delete on ${source} for each row execute function ${log}, 'same');
create or replace trigger ${of("update")} after update on ${source} for each row
  when (old operator(pg_catalog.*<>) new and not (${isMoved})) execute function ${log}, 'same');
create or replace trigger ${of("key")} after update on ${source} for each row when (${isMoved}) execute function ${log}, 'moved');
create or replace trigger ${of("truncate")} after truncate on ${source} for each statement
  execute function ${schema}.log_truncate('${attachment}');
${triggers.map((what) => `alter table ${source} enable always trigger ${of(what)};`).join("\n")}
`;
}

const triggers = ["row", "update", "key", "truncate"];

/** Count of the triggers of an attached table. */
export const triggerCount = triggers.length;

/**
 * Removes the triggers of an attachment, whatever its table is called now. `but`: the SQL table that
 * keeps them. A table that was renamed keeps its triggers, and another one may have its name: without
 * this, its changes would be moved as those of the other one.
 */
export function removal(schema: string, attachment: string, but?: string): string {
  const loop = `declare t record; begin
  for t in select tgname, tgrelid::regclass as source from pg_trigger g
    where ${triggersOf(schema, "g", quoteText(attachment))}
      ${but === undefined ? "" : `and tgrelid <> ${quoteText(but)}::regclass`}
  loop execute format('drop trigger %I on %s', t.tgname, t.source); end loop;
end`;
  return `do ${quoteText(loop)};`;
}

/** The functions of triggers, as a list for `in`. NULL if there are none. */
export function triggerFunctions(schema: string): string {
  const names = ["log_row()", "log_truncate()"];
  return names.map((name) => `to_regprocedure(${quoteText(`${schema}.${name}`)})`).join(", ");
}

/** Whether the row `trigger` of `pg_trigger` belongs to an attachment, as a condition. */
export function triggersOf(schema: string, trigger: string, attachment: string): string {
  return `${trigger}.tgfoid in (${triggerFunctions(schema)})
      and starts_with(encode(${trigger}.tgargs, 'escape'), ${attachment}::text || E'\\\\000')`;
}
