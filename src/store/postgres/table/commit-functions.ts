import { quoteText } from "./names.js";

/** Drops the function that earlier versions called with other parameters: PostgreSQL would keep both. */
export function dropOlderFunctions(s: string): string {
  return `
drop function if exists ${s}.commit_group(
  text, int8, int8, text, int4[], bytea[], bytea[], int4[], int8[], int8[], int4[], bytea[], bytea[], int4[], int4[], int4[],
  int4[], int4[], int4[], bytea[], bytea[], bytea[], bytea[], int4[], int8[], int8[],
  int4[], int4[], bytea[], bytea[], int4[], int8[], int8[], int4[], int4[], bytea[], bytea[], int4[], int8[], bytea[],
  int4, int4[], int4[]);`;
}

/**
 * The functions that write. Each takes the same advisory lock until its transaction has ended, so
 * that commits become visible in the order of their timestamps. They must run under `read
 * committed`: each statement then sees what was committed before the lock was granted.
 */
export function commitFunctions(s: string): string {
  return `
create or replace function ${s}.lock_commits() returns void language plpgsql as $percolatordb$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the transaction isolation is %, but must be read committed', current_setting('transaction_isolation')
      using errcode = '25001', hint = 'set default_transaction_isolation of this role to ''read committed''';
  end if;
  perform pg_advisory_xact_lock(1885565540, (${quoteText(`${s}.state`)}::regclass::oid::int8 - 2147483648)::int4);
end $percolatordb$;

-- Adds a writer. Removes those that have written nothing for a day.
create or replace function ${s}.add_writer(writer text) returns void language plpgsql as $percolatordb$
begin
  delete from ${s}.writers where seen < clock_timestamp() - interval '1 day';
  insert into ${s}.writers (id, number, seen) values (writer, 0, clock_timestamp());
end $percolatordb$;

-- Makes the end of this transaction wait for the disk. It is visible only after that.
create or replace function ${s}.wait_for_disk() returns void language plpgsql as $percolatordb$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $percolatordb$;

-- Commits a group of transactions. Those of a wave are checked together, then applied together.
-- mode: 'later' is flushed by a later call; 'now' waits for the disk; 'early' is never waited for.
-- c_: cells that must have no lock, and no write record at c_since or later. With a value, they get a write record at
-- the commit timestamp. Elements of arrays are read by their index, which costs nothing while no array is copied
-- into a plan: so the plans must be generic.
create or replace function ${s}.commit_group(
  writer text, new_number int8, last_number int8, mode text,
  c_tx int4[], c_at int4[], c_tbl int4[], c_row bytea[], c_col bytea[], c_since int8[], c_value bytea[], newest_since int8,
  g_tbl int4[], g_row bytea[], g_col bytea[], g_part int4[], g_from int8[], g_to int8[],
  g_present int4[], g_equals bytea[], g_below bytea[],
  u_guard int4[], u_tx int4[], u_at int4[],
  r_tx int4[], r_at int4[], r_tbl int4[], r_start bytea[], r_end bytea[], r_col_start bytea[],
  r_col_end bytea[], r_part int4[], r_from int8[], r_to int8[],
  d_tx int4[], d_tbl int4[], d_row bytea[], d_col bytea[], d_part int4[], d_from int8[], d_to int8[],
  p_tx int4[], p_tbl int4[], p_row bytea[], p_col bytea[], p_part int4[], p_ts int8[], p_value bytea[],
  waves int4, ends int4[], counting int4[],
  out outcome text, out first_ts int8, out failed_tx int4[], out failed_at int4[]
) language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set jit = off as $percolatordb$
declare
  known int8; a int4[]; z int4[] := array[0, 0, 0, 0, 0, 0];
  bad int4[]; bad_tx int4[]; bad_at int4[]; last int4;
begin
  perform ${s}.lock_commits();
  if mode = 'now' then perform ${s}.wait_for_disk();
  else perform set_config('synchronous_commit', 'off', true); end if;
  select w.number into known from ${s}.writers w where w.id = writer;
  if not found then outcome := 'unregistered'; return; end if;
  if known >= new_number then outcome := 'fenced'; return; end if;
  -- A crash has undone groups of this writer. Their numbers must not be passed over: a flush would
  -- take them for committed.
  if known <> last_number then outcome := 'lost'; return; end if;
  select greatest(counter + 1, (extract(epoch from clock_timestamp()) * 1000000)::int8) into first_ts from ${s}.state;
  failed_tx := '{}'; failed_at := '{}';
  for wave in 1..waves loop
    a := z; z := ends[6 * wave - 5 : 6 * wave];
    if z[1] > a[1] then
      -- The first entry of the index for a cell is its lock, or else its newest write record.
      select array_agg(c_tx[i]), array_agg(c_at[i] + v.part) into bad_tx, bad_at
      from generate_series(a[1] + 1, z[1]) i
      cross join lateral (
        select x.part, x.ts from ${s}.cells x
        where x.tbl = c_tbl[i] and x."row" = c_row[i] and x.col = c_col[i] and x.part < 2
        order by x.part, x.ts desc limit 1
      ) v
      where v.part = 0 or v.ts >= c_since[i];
      if bad_tx is not null then failed_tx := failed_tx || bad_tx; failed_at := failed_at || bad_at; end if;
    end if;
    if z[2] > a[2] then
      bad := array(
        select i
        from generate_series(a[2] + 1, z[2]) i
        left join lateral (
          select x.value from ${s}.cells x
          where x.tbl = g_tbl[i] and x."row" = g_row[i] and x.col = g_col[i] and x.part = g_part[i]
            and x.ts >= g_from[i] and x.ts < g_to[i]
          order by x.ts desc limit 1
        ) v on true
        where case when g_present[i] = 0 then v.value is not null
          else v.value is null or v.value <> g_equals[i] or v.value >= g_below[i] end);
      if cardinality(bad) > 0 then
        select array_agg(u_tx[i]), array_agg(u_at[i]) into bad_tx, bad_at
        from generate_series(a[3] + 1, z[3]) i
        where u_guard[i] in (select unnest(bad));
        failed_tx := failed_tx || bad_tx; failed_at := failed_at || bad_at;
      end if;
    end if;
    if z[4] > a[4] then
      select array_agg(r_tx[i]), array_agg(r_at[i]) into bad_tx, bad_at
      from generate_series(a[4] + 1, z[4]) i
      cross join lateral (
        select 1 from ${s}.cells x
        where x.tbl = r_tbl[i] and x."row" >= r_start[i] and x."row" < r_end[i] and x.col >= r_col_start[i]
          and x.col < r_col_end[i] and x.part = r_part[i] and x.ts >= r_from[i] and x.ts < r_to[i]
        limit 1
      ) v;
      if bad_tx is not null then failed_tx := failed_tx || bad_tx; failed_at := failed_at || bad_at; end if;
    end if;
    if z[5] > a[5] then
      delete from ${s}.cells x using generate_series(a[5] + 1, z[5]) i
      where x.tbl = d_tbl[i] and x."row" = d_row[i] and x.col = d_col[i] and x.part = d_part[i]
        and x.ts >= d_from[i] and x.ts < d_to[i] and d_tx[i] not in (select unnest(failed_tx));
    end if;
    if z[1] > a[1] then
      -- The cell has no version at this timestamp: that was checked.
      insert into ${s}.cells (tbl, "row", col, part, ts, value)
      select c_tbl[i], c_row[i], c_col[i], 1, first_ts + c_tx[i], c_value[i]
      from generate_series(a[1] + 1, z[1]) i
      where c_value[i] is not null and c_since[i] <= first_ts and c_tx[i] not in (select unnest(failed_tx));
      if newest_since > first_ts then
        insert into ${s}.cells (tbl, "row", col, part, ts, value)
        select c_tbl[i], c_row[i], c_col[i], 1, first_ts + c_tx[i], c_value[i]
        from generate_series(a[1] + 1, z[1]) i
        where c_value[i] is not null and c_since[i] > first_ts and c_tx[i] not in (select unnest(failed_tx))
        on conflict (tbl, "row", col, part, ts) do update set value = excluded.value;
      end if;
    end if;
    if z[6] > a[6] then
      insert into ${s}.cells (tbl, "row", col, part, ts, value)
      select p_tbl[i],
        case when p_ts[i] = -2 then overlay(p_row[i] placing int8send(first_ts + p_tx[i]) from octet_length(p_row[i]) - 7)
          else p_row[i] end,
        p_col[i], p_part[i], case when p_ts[i] < 0 then first_ts + p_tx[i] else p_ts[i] end, p_value[i]
      from generate_series(a[6] + 1, z[6]) i
      where p_tx[i] not in (select unnest(failed_tx))
      on conflict (tbl, "row", col, part, ts) do update set value = excluded.value;
    end if;
  end loop;
  select max(t.tx) into last from unnest(counting) t(tx) where t.tx not in (select unnest(failed_tx));
  if last is not null then
    update ${s}.state set counter = first_ts + last;
    if mode = 'early' then update ${s}.durable set counter = first_ts + last where counter < first_ts + last; end if;
  end if;
  update ${s}.writers w
  set number = new_number, first_ts = commit_group.first_ts, failed_tx = commit_group.failed_tx,
    failed_at = commit_group.failed_at, seen = clock_timestamp()
  where w.id = writer;
  outcome := 'done';
end $percolatordb$;

-- What became of a group whose answer was lost. If it was not committed, it cannot be any more.
create or replace function ${s}.settle_group(
  writer text, its_number int8, last_number int8, out outcome text, out first_ts int8, out failed_tx int4[], out failed_at int4[]
) language plpgsql as $percolatordb$
declare
  known ${s}.writers;
begin
  perform ${s}.lock_commits();
  select * into known from ${s}.writers w where w.id = writer;
  if not found then outcome := 'unregistered'; return; end if;
  if known.number < its_number and known.number <> last_number then
    outcome := 'lost';
  elsif known.number < its_number then
    update ${s}.writers w
    set number = its_number, first_ts = null, failed_tx = null, failed_at = null, seen = clock_timestamp()
    where w.id = writer;
    outcome := 'fenced';
  elsif known.first_ts is null then
    -- An earlier call of this function has refused the group, but its answer was lost.
    outcome := 'fenced';
  else
    outcome := 'done'; first_ts := known.first_ts; failed_tx := known.failed_tx; failed_at := known.failed_at;
  end if;
end $percolatordb$;

-- Makes every commit so far durable, and then lets transactions begin at its timestamp: an update is
-- visible only when it is on the disk, and so is everything before it. Returns the number of the
-- writer's last group among those commits.
create or replace function ${s}.flush(writer text) returns int8 language plpgsql as $percolatordb$
declare
  known int8;
begin
  select w.number into known from ${s}.writers w where w.id = writer;
  perform ${s}.wait_for_disk();
  update ${s}.durable d set counter = s.counter from ${s}.state s where d.counter < s.counter;
  if not found then perform pg_logical_emit_message(true, 'percolatordb', ''); end if;
  return known;
end $percolatordb$;

-- The number of a table, which gets one at its first use.
create or replace function ${s}.need_table(its_name text) returns int4 language plpgsql as $percolatordb$
declare
  known int4;
begin
  select t.id into known from ${s}.tables t where t.name = its_name;
  if not found then
    insert into ${s}.tables (name) values (its_name) on conflict do nothing;
    select t.id into known from ${s}.tables t where t.name = its_name;
  end if;
  return known;
end $percolatordb$;
`;
}
