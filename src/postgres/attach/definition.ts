import { quoteText } from "../../store/postgres/index.js";

/** The trigger of a table. Triggers fire in the order of their names, and this one must be first. */
export const triggerName = "!percolatordb";

export const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * The outbox of a schema, as a script that may be repeated. Writers of attached tables need no
 * privileges on it: the trigger's functions run as their owner.
 */
export function outboxDefinition(schema: string): string {
  // What a session has set must not change what is logged.
  const settings =
    "set search_path = pg_catalog, pg_temp set timezone = 'UTC' set extra_float_digits = 1 set bytea_output = 'hex' set intervalstyle = 'postgres'";
  return `
select pg_advisory_xact_lock(hashtextextended(${quoteText(schema)} || ' outbox', 0));
create table if not exists ${schema}.attachments (
  id integer generated always as identity primary key,
  source text not null unique,
  name text not null unique,
  definition text not null
);
create table if not exists ${schema}.outbox (
  seq bigint generated always as identity (cache 1) primary key,
  xid xid8 not null default pg_current_xact_id(),
  attachment integer not null,
  op "char" not null,
  content json
);
create index if not exists outbox_xid on ${schema}.outbox (xid);
create or replace function ${schema}.attached_row(r anyelement) returns json
  language plpgsql stable ${settings} as $f$ begin return to_json(r); end $f$;
create or replace function ${schema}.log_row() returns trigger
  language plpgsql security definer ${settings} as $f$ begin
  if tg_op = 'DELETE' or tg_argv[1] = 'moved' then
    insert into ${schema}.outbox (attachment, op, content) values (tg_argv[0]::integer, 'd', to_json(old));
  end if;
  if tg_op <> 'DELETE' then
    insert into ${schema}.outbox (attachment, op, content) values (tg_argv[0]::integer, 's', to_json(new));
  end if;
  return null;
end $f$;
create or replace function ${schema}.log_truncate() returns trigger
  language plpgsql security definer ${settings} as $f$ begin
  insert into ${schema}.outbox (attachment, op) values (tg_argv[0]::integer, 't');
  return null;
end $f$;
`;
}

/**
 * The triggers of a table, as a script that may be repeated. Rows are compared by their stored
 * form, because not every type has an equality. A changed key is a trigger of its own: it follows
 * renamed columns, and the function needs no column's name.
 */
export function triggersDefinition(
  schema: string,
  source: string,
  attachment: number,
  keyColumns: readonly string[],
): string {
  const keys = (row: string) =>
    `row(${keyColumns.map((name) => `${row}.${quoteName(name)}`).join(", ")})::pg_catalog.record`;
  const isMoved = `${keys("old")} operator(pg_catalog.*<>) ${keys("new")}`;
  const of = (what: string) => quoteName(`${triggerName} ${what}`);
  const log = `${schema}.log_row('${attachment}'`;
  return `
set local lock_timeout = '200ms';
${removal(source)}
create trigger ${of("row")} after insert or delete on ${source} for each row execute function ${log}, 'same');
create trigger ${of("update")} after update on ${source} for each row
  when (old operator(pg_catalog.*<>) new and not (${isMoved})) execute function ${log}, 'same');
create trigger ${of("key")} after update on ${source} for each row when (${isMoved}) execute function ${log}, 'moved');
create trigger ${of("truncate")} after truncate on ${source} for each statement
  execute function ${schema}.log_truncate('${attachment}');
${triggers.map((what) => `alter table ${source} enable always trigger ${of(what)};`).join("\n")}
`;
}

const triggers = ["row", "update", "key", "truncate"];

/** Removes the triggers of a table. */
export function removal(source: string): string {
  return triggers
    .map((what) => `drop trigger if exists ${quoteName(`${triggerName} ${what}`)} on ${source};`)
    .join("\n");
}
