import { quoteText } from "../../store/postgres/index.js";
import { quoteName } from "../attach/table/definition.js";
import type { ViewColumn } from "./columns.js";

/** What the SQL of a view needs to know. */
export interface ViewSource {
  /** The database's schema as SQL. */
  readonly schema: string;
  /** The number of the table in `tables`. */
  readonly table: number;
  readonly key: readonly ViewColumn[];
}

/** A column with its path in the store. */
export interface StoredColumn extends ViewColumn {
  readonly path: Buffer;
}

/** A family: its cells are the rows of the view. */
export interface StoredFamily {
  /** The path of a cell up to its qualifier. */
  readonly prefix: Buffer;
  readonly qualifier: string;
  readonly value: ViewColumn;
}

const flag = { deleted: 1, loaded: 8 };
const literal = (bytes: Uint8Array) => `${quoteText(`\\x${Buffer.from(bytes).toString("hex")}`)}::bytea`;
const keyName = (index: number) => `k${index + 1}`;
const timestampIn = (bytes: string, from: number) =>
  `('x' || encode(substr(${bytes}, ${from}, 8), 'hex'))::bit(64)::int8`;

/** The query of a view with a row for each row that has a value. */
export function rowsQuery(source: ViewSource, columns: readonly StoredColumn[]): string {
  const paths = columns.map(({ path }) => literal(path)).join(", ");
  const keys = source.key.map((_, i) => `n.${keyName(i)}`).join(", ");
  const values = columns.map(({ name, path, decode }) => {
    const bytes = `string_agg(n.bytes, '') filter (where n.col = ${literal(path)})`;
    return `${decode(source.schema, bytes)} as ${quoteName(name)}`;
  });
  return `select ${[...keyList(source, "n"), ...values].join(",\n  ")}
from (${current(source, `c.col in (${paths})`)}) n
group by ${keys}, n."row"`;
}

/** The query of a view with a row for each cell of a family. */
export function cellsQuery(source: ViewSource, { prefix, qualifier, value }: StoredFamily): string {
  const end = Buffer.from(prefix);
  end[end.length - 1]! += 1;
  const name = `${source.schema}.view_key(substr(n.col, ${prefix.length + 1})) collate "C"`;
  return `select ${keyList(source, "n").join(",\n  ")},
  ${name} as ${quoteName(qualifier)},
  ${value.decode(source.schema, "n.bytes")} as ${quoteName(value.name)}
from (${current(source, `c.col >= ${literal(prefix)} and c.col < ${literal(end)}`)}) n`;
}

/** The index on `cells` that finds the rows of a key. Only the table's own writes are in it. */
export function indexColumns({ schema, key }: ViewSource): string {
  return key.map(({ decode }) => decode(schema, '"row"')).join(", ");
}

/** The condition of the index. Queries of the views have it too. */
export function indexCondition({ table }: ViewSource): string {
  return `tbl = ${table} and part <= 1`;
}

function keyList({ key }: ViewSource, from: string): readonly string[] {
  return key.map(({ name }, i) => `${from}.${keyName(i)} as ${quoteName(name)}`);
}

/**
 * The cells that a transaction that begins now would see: newest version up to the counter that is
 * on the disk, without deleted cells. A lock counts as a version if its transaction has committed.
 * It comes first, because nobody can have committed after it.
 *
 * A condition on a key moves down into the innermost query, because the key is among the columns
 * that `distinct on` names.
 */
function current(source: ViewSource, columns: string): string {
  const { schema: s, table, key } = source;
  const at = `(select d.counter from ${s}.durable d)`;
  const decoded = key.map(({ decode }, i) => `${decode(s, 'c."row"')} as ${keyName(i)}`);
  const names = [...key.map((_, i) => keyName(i)), 'c."row"', "c.col"].join(", ");
  const committed = `array(select o.ts from ${s}.cells o cross join lateral ${s}.view_lock(o.value) l
        join ${s}.tables t on t.name = l.tbl
        join ${s}.cells x on x.tbl = t.id and x."row" = l."row" and x.col = l.col and x.part = 3 and x.ts = o.ts
        where o.tbl = ${table} and o.part = 0 and substr(x.value, 1, 1) = ${literal(Buffer.of(1))} and ${timestampIn("x.value", 2)} <= ${at})`;
  const newest = `select distinct on (${names}) ${[...decoded, 'c."row"', "c.col", "c.part", "c.value"].join(", ")}
    from ${s}.cells c
    where c.tbl = ${table} and c.part <= 1 and ${columns}
      and case c.part when 1 then c.ts <= ${at} else c.ts = any (${committed}) end
    order by ${names}, c.part, c.ts desc`;
  const flags = (from: string) => `get_byte(substr(v.value, 1, 9), ${from})`;
  const published = `array(select ('0' || convert_from(substr(x."row", 15), 'UTF8'))::int8
        from ${s}.cells x where x.tbl = (select t.id from ${s}.tables t where t.name = '~system')
        and x."row" >= 'registry/load/'::bytea and x."row" < 'registry/load0'::bytea and x.col = 'state'::bytea and x.part = 1
        and x.ts <= ${at} and substr(x.value, 10) = '"published"'::bytea)`;
  const start = timestampIn("v.value", 2);
  const alive = `case v.part when 0 then ${flags("8")} & ${flag.deleted} = 0
      else ${flags("0")} & ${flag.deleted} = 0 and (${flags("0")} & ${flag.loaded} = 0 or ${start} = any (${published})) end`;
  const bytes = `case v.part when 1 then substr(v.value, 10) else (${s}.view_lock(v.value)).value end`;
  return `
  select ${[...key.map((_, i) => `v.${keyName(i)}`), 'v."row"', "v.col", `${bytes} as bytes`].join(", ")}
  from (
    ${newest}
  ) v
  where ${alive}
`;
}
