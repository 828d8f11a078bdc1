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

const within = (low: string, high: string) =>
  `x.tbl = its_tbl and (x."row", x.col) >= (${low}_row, ${low}_col) and (x."row", x.col) < (${high}_row, ${high}_col)`;
const place = "its_tbl int4, low_row bytea, low_col bytea, high_row bytea, high_col bytea";
const columns = "one bytea, few bytea[], starts bytea[], ends bytea[]";
const limits = "most int8, most_bytes int8, most_walked int8";

/**
 * The functions that read pages, by key and without `offset`. A page ends when it has `most` versions
 * or rows, or `most_bytes` bytes of values, or has walked over `most_walked` entries of the index,
 * however few of them it shows: a collection looks for locks where there are write records only.
 *
 * Each walks in pieces, because a query over everything ends only when it has found enough. The end
 * of a piece is found in the index alone, which costs little beside the piece itself.
 */
export function pageFunctions(s: string): string {
  return (Object.keys(variants) as ColumnChoice[])
    .map((choice) => `${viewPage(s, choice)}\n${rawPage(s, choice)}\n${rowsBelow(s, choice)}`)
    .join("\n");
}

/** Drops the functions of earlier versions, which had other parameters: PostgreSQL would keep both. */
export function dropOlderPageFunctions(s: string): string {
  const common = `${place}, ${columns}`.replaceAll(/\w+ (\w+(?:\[\])?)/g, "$1");
  return (Object.keys(variants) as ColumnChoice[])
    .map(
      (choice) => `
drop function if exists ${s}.view_page_${choice}(${common}, int8, int8, int8);
drop function if exists ${s}.raw_page_${choice}(${common}, int4[], int8, int8, int8, int8, int8);
drop function if exists ${s}.rows_below_${choice}(${common}, int8, int8, int8, int8);`,
    )
    .join("");
}

/** How many entries the first piece has for each version that the page may show. */
const firstPiece: Record<ColumnChoice, number> = { all: 4, some: 4, one: 16 };

/** The next piece has as much as the page lacks, and a quarter more, if it is like the one before. */
const nextPiece =
  "piece := greatest(most, least(4 * piece, piece * (most - shown) * 5 / 4 / greatest(shown, 1), most_walked));";

/**
 * A page of whole cells, of the versions that `versions` selects between `low` and `stop`. If the
 * page is cut, the answer ends with the cell that begins the next one, and -1 for its part.
 */
const page = (s: string, choice: ColumnChoice, versions: string) => `
returns table (r bytea, c bytea, p int2, t int8, v bytea) language plpgsql stable ${settings} as $percolatordb$
declare
  it record;
  piece int8 := ${firstPiece[choice]} * most;
  walked int8 := 0;
  shown int8 := 0;
  bytes int8 := 0;
  is_last bool;
  stop_row bytea;
  stop_col bytea;
begin
  loop
    is_last := most_walked is null;
    if not is_last then
      select x."row", x.col into stop_row, stop_col from ${s}.cells x where ${within("low", "high")}
        order by x."row", x.col, x.part, x.ts desc offset piece limit 1;
      is_last := not found;
    end if;
    if is_last then
      stop_row := high_row;
      stop_col := high_col;
    end if;
    for it in ${versions} loop
      if (shown >= most or bytes >= most_bytes) and (it.col <> c or it."row" <> r) then
        r := it."row";
        c := it.col;
        p := -1;
        return next;
        return;
      end if;
      r := it."row";
      c := it.col;
      p := it.part;
      t := it.ts;
      v := it."value";
      return next;
      shown := shown + 1;
      bytes := bytes + coalesce(octet_length(v) + 64, 0);
    end loop;
    exit when is_last;
    walked := walked + piece;
    if (stop_row, stop_col) = (low_row, low_col) then
      -- One cell has more entries than the piece.
      piece := 4 * piece;
      continue;
    end if;
    if walked >= most_walked then
      r := stop_row;
      c := stop_col;
      p := -1;
      return next;
      return;
    end if;
    low_row := stop_row;
    low_col := stop_col;
    ${nextPiece}
  end loop;
end $percolatordb$;`;

/** The most versions of a cell that a transaction sees: a lock, a write record, and the newest write record. */
const maxVersions = 3;

/** Locks and write records that a transaction at `at` sees, and the newest write record's timestamp. */
function viewPage(s: string, choice: ColumnChoice): string {
  return `
create or replace function ${s}.view_page_${choice}(${place}, ${columns}, at int8, ${limits})${page(
    s,
    choice,
    `
      select z."row", z.col, z.part, z.ts, case when z.ts <= at then z.value end "value" from (
        select x."row", x.col, x.part, x.ts, x.value,
          lag(x.ts) over (partition by ${key("x", choice)} order by x.ts desc) newer
        from ${s}.cells x where ${within("low", "stop")} and x.part < 2 and ${variants[choice]}
      ) z
      where (z.ts <= at and (z.newer is null or z.newer > at)) or (z.part = 1 and z.newer is null)
      order by ${key("z", choice)}, z.ts desc limit most - shown + ${maxVersions}`,
  )}`;
}

/** All versions of the wanted parts. */
function rawPage(s: string, choice: ColumnChoice): string {
  return `
create or replace function ${s}.raw_page_${choice}(
  ${place}, ${columns}, parts int4[], since int8, until int8, versions int8, ${limits})${page(
    s,
    choice,
    `
      select z."row", z.col, z.part, z.ts, z.value from (
        select x."row", x.col, x.part, x.ts, x.value,
          row_number() over (partition by ${key("x", choice)} order by x.ts desc) version
        from ${s}.cells x
        where ${within("low", "stop")} and x.part = any(parts) and x.ts >= since and x.ts < until and ${variants[choice]}
      ) z
      where z.version <= versions
      order by ${key("z", choice)}, z.ts desc`,
  )}`;
}

/**
 * Rows with something to see at `at`, in descending order, as many as fit in a page. If the page is
 * cut, the answer ends with its last row and `is_shown` false. That row may have nothing to see.
 */
function rowsBelow(s: string, choice: ColumnChoice): string {
  return `
create or replace function ${s}.rows_below_${choice}(${place}, ${columns}, at int8, most_cells int8, ${limits})
returns table (r bytea, is_shown bool) language plpgsql stable ${settings} as $percolatordb$
declare
  piece int8 := ${firstPiece[choice]} * most;
  walked int8 := 0;
  shown int8 := 0;
  cells int8 := 0;
  bytes int8 := 0;
  is_last bool;
  stop_row bytea;
  stop_col bytea := '';
  -- A loop over a cursor fetches one row at a time: each may have any number of versions.
  rows_of_piece cursor for
    select x."row", count(*) row_cells, sum(octet_length(x.value)) row_bytes
    from ${s}.cells x where ${within("stop", "high")} and x.part < 2 and x.ts <= at and ${variants[choice]}
    group by x."row" order by x."row" desc;
begin
  loop
    select x."row" into stop_row from ${s}.cells x where ${within("low", "high")}
      order by x."row" desc, x.col desc, x.part desc, x.ts offset piece limit 1;
    is_last := not found or stop_row = low_row;
    if is_last then
      stop_row := low_row;
      stop_col := low_col;
    end if;
    for it in rows_of_piece loop
      r := it."row";
      is_shown := true;
      return next;
      shown := shown + 1;
      cells := cells + it.row_cells;
      bytes := bytes + it.row_bytes;
      if shown >= most or cells >= most_cells or bytes >= most_bytes then
        is_shown := false;
        return next;
        return;
      end if;
    end loop;
    exit when is_last;
    walked := walked + piece;
    if walked >= most_walked then
      r := stop_row;
      is_shown := false;
      return next;
      return;
    end if;
    high_row := stop_row;
    high_col := '';
    ${nextPiece}
  end loop;
end $percolatordb$;`;
}
