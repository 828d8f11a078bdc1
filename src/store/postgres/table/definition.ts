import { commitFunctions, dropOlderFunctions } from "./commit-functions.js";
import { quoteText } from "./names.js";
import { dropOlderPageFunctions, pageFunctions } from "./page-functions.js";
import { wakeFunctions } from "./wake-functions.js";

/** The version of the tables and functions. Raise it with every change of them. */
export const schemaVersion = 5;

/** The SQLSTATE with which the statements end if a newer package has upgraded meanwhile. */
export const newerState = "PD001";

/** What the table `state` says of the schema whose name its functions contain. */
export function stateComment(s: string): string {
  return `percolatordb in the schema ${s}`;
}

/**
 * The statements that make the tables and functions of a database in the schema `s`, a quoted name,
 * or upgrade those of an older version. Repeating them changes nothing. An advisory lock keeps two
 * processes from making them at once. Under it, they end with {@link newerState} if a newer package was faster.
 *
 * - `cells` has a row for each version of each part of a cell. Its index is in the order of the
 *   keys, newest version first.
 * - `tables` gives each table of the library a number.
 * - `state` has one row: the version of the schema, and the counter of timestamps.
 * - `durable` has one row: the value of the counter up to which all commits are on the disk.
 * - `woken` is the time of the last wake-up, in microseconds.
 * - `writers` has a row for each process that writes: the number and the outcome of its last group.
 */
export function definition(s: string, makesSchema: boolean): string {
  return `
select pg_advisory_xact_lock(hashtextextended(${quoteText(`percolatordb ${s}`)}, 0));
do $percolatordb$ begin
  if to_regclass(${quoteText(`${s}.state`)}) is not null then
    if exists (select from ${s}.state where version > ${schemaVersion}) then
      raise exception 'the tables have a newer version' using errcode = '${newerState}';
    end if;
  end if;
end $percolatordb$;
${makesSchema ? `create schema if not exists ${s};` : ""}
create table if not exists ${s}.tables (
  id int4 generated always as identity primary key,
  name text not null unique
);
create table if not exists ${s}.cells (
  tbl int4 not null,
  "row" bytea not null,
  col bytea not null,
  part int2 not null,
  ts int8 not null,
  value bytea not null
) with (
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.05
);
create unique index if not exists cells_key on ${s}.cells (tbl, "row", col, part, ts desc);
-- Without it, cells could not be deleted while a publication for all tables exists.
alter table ${s}.cells replica identity using index cells_key;
create table if not exists ${s}.writers (
  id text primary key,
  number int8 not null,
  first_ts int8,
  failed_tx int4[],
  failed_at int4[],
  seen timestamptz not null
) with (fillfactor = 20);
create table if not exists ${s}.state (
  one bool primary key default true check (one),
  version int4 not null,
  counter int8 not null
) with (fillfactor = 10);
create table if not exists ${s}.durable (
  one bool primary key default true check (one),
  counter int8 not null
) with (fillfactor = 10);
insert into ${s}.durable (counter) values (0) on conflict do nothing;
insert into ${s}.state (version, counter) values (${schemaVersion}, 0) on conflict do nothing;
create sequence if not exists ${s}.woken minvalue 0 start 0;
update ${s}.state set version = ${schemaVersion} where version < ${schemaVersion};
comment on table ${s}.state is ${quoteText(stateComment(s))};
${dropOlderFunctions(s)}
${dropOlderPageFunctions(s)}
${commitFunctions(s)}
${pageFunctions(s)}
${wakeFunctions(s)}
`;
}
