/**
 * Planner settings of the functions that read a page: only an ordered walk over the index reads no
 * more than the page. The planner cannot know that from the parameters alone. So it need not plan
 * each call for its own parameters either.
 */
const settings =
  "set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off " +
  "set enable_hashagg = off set jit = off";

/** The condition on columns of each variant of a function. */
const variants = {
  all: "true",
  one: "x.col = one",
  some: "(x.col = any(few) or exists (select 1 from unnest(starts, ends) c(s, e) where x.col >= c.s and x.col < c.e))",
} as const;

/** Which columns a page has: all, one, or several and ranges of them. */
export type ColumnChoice = keyof typeof variants;

/**
 * The order of the index within a table. If there is one column only, it must not be named: the
 * planner would sort by it.
 */
function key(alias: string, choice: ColumnChoice): string {
  return choice === "one" ? `${alias}."row", ${alias}.part` : `${alias}."row", ${alias}.col, ${alias}.part`;
}

const bounds = `x.tbl = its_tbl and (x."row", x.col) >= (low_row, low_col) and (x."row", x.col) < (high_row, high_col)`;
const place = "its_tbl int4, low_row bytea, low_col bytea, high_row bytea, high_col bytea";
const columns = "one bytea, few bytea[], starts bytea[], ends bytea[]";

/**
 * The functions that read pages, by key and without `offset`. Each sums up the bytes of the cells
 * before a cell, and ends the page when they are too many. The first cell that does not fit is in
 * the answer too, with -1 for a part, because the next page begins there. `total` is the number of
 * versions without the limit of bytes.
 */
export function pageFunctions(s: string): string {
  return (Object.keys(variants) as ColumnChoice[])
    .map((choice) => `${viewPage(s, choice)}\n${rawPage(s, choice)}\n${rowsBelow(s, choice)}`)
    .join("\n");
}

/** Locks and write records that a transaction at `at` sees, and the newest write record's timestamp. */
function viewPage(s: string, choice: ColumnChoice): string {
  return `
create or replace function ${s}.view_page_${choice}(${place}, ${columns}, at int8, most int8, most_bytes int8)
returns table (r bytea, c bytea, p int2, t int8, v bytea, total int8) language plpgsql stable ${settings} as $percolatordb$
begin
  return query
  select w."row", w.col, case when coalesce(w.before, 0) < most_bytes then w.part else -1::int2 end, w.ts,
    case when coalesce(w.before, 0) < most_bytes and w.ts <= at then w.value end, w.total
  from (
    select y.*, count(*) over () total,
      sum(case when y.ts <= at then octet_length(y.value) + 64 else 0 end) over
        (order by y."row", y.col groups between unbounded preceding and 1 preceding) before,
      sum(case when y.ts <= at then octet_length(y.value) + 64 else 0 end) over
        (order by y."row", y.col groups between unbounded preceding and 2 preceding) long_before
    from (
      select z.* from (
        select x."row", x.col, x.part, x.ts, x.value,
          lag(x.ts) over (partition by ${key("x", choice)} order by x.ts desc) newer
        from ${s}.cells x where ${bounds} and x.part < 2 and ${variants[choice]}
      ) z
      where (z.ts <= at and (z.newer is null or z.newer > at)) or (z.part = 1 and z.newer is null)
      order by ${key("z", choice)}, z.ts desc limit most
    ) y
  ) w
  where coalesce(w.long_before, 0) < most_bytes
  order by w."row", w.col, w.part, w.ts desc;
end $percolatordb$;`;
}

/** All versions of the wanted parts. */
function rawPage(s: string, choice: ColumnChoice): string {
  return `
create or replace function ${s}.raw_page_${choice}(
  ${place}, ${columns}, parts int4[], since int8, until int8, versions int8, most int8, most_bytes int8)
returns table (r bytea, c bytea, p int2, t int8, v bytea, total int8) language plpgsql stable ${settings} as $percolatordb$
begin
  return query
  select w."row", w.col, case when coalesce(w.before, 0) < most_bytes then w.part else -1::int2 end, w.ts,
    case when coalesce(w.before, 0) < most_bytes then w.value end, w.total
  from (
    select y.*, count(*) over () total,
      sum(octet_length(y.value) + 64) over
        (order by y."row", y.col groups between unbounded preceding and 1 preceding) before,
      sum(octet_length(y.value) + 64) over
        (order by y."row", y.col groups between unbounded preceding and 2 preceding) long_before
    from (
      select z.* from (
        select x."row", x.col, x.part, x.ts, x.value,
          row_number() over (partition by ${key("x", choice)} order by x.ts desc) version
        from ${s}.cells x
        where ${bounds} and x.part = any(parts) and x.ts >= since and x.ts < until and ${variants[choice]}
      ) z
      where z.version <= versions
      order by ${key("z", choice)}, z.ts desc limit most
    ) y
  ) w
  where coalesce(w.long_before, 0) < most_bytes
  order by w."row", w.col, w.part, w.ts desc;
end $percolatordb$;`;
}

/** Rows with something to see at `at`, in descending order, as many as fit in a page. */
function rowsBelow(s: string, choice: ColumnChoice): string {
  return `
create or replace function ${s}.rows_below_${choice}(${place}, ${columns}, at int8, most int8, most_cells int8, most_bytes int8)
returns table (r bytea, total int8) language plpgsql stable ${settings} as $percolatordb$
begin
  return query
  select w."row", w.total
  from (
    select y."row", count(*) over () total, sum(y.cells) over earlier cells, sum(y.bytes) over earlier bytes
    from (
      select x."row", count(*) cells, sum(octet_length(x.value)) bytes
      from ${s}.cells x where ${bounds} and x.part < 2 and x.ts <= at and ${variants[choice]}
      group by x."row" order by x."row" desc limit most
    ) y
    window earlier as (order by y."row" desc rows between unbounded preceding and 1 preceding)
  ) w
  where coalesce(w.cells, 0) < most_cells and coalesce(w.bytes, 0) < most_bytes
  order by w."row" desc;
end $percolatordb$;`;
}
