import { type Setting, statement } from "../../../store/postgres/index.js";

/** The labels of a column's enums, by the number that the server gave each when it was made. */
export type EnumLabels = Readonly<Record<string, string>>;

/** A column of an SQL table, which is quoted. */
export type ColumnName = readonly [sql: string, column: string];

/**
 * The labels of all enums in the types of columns: of the enum itself, and of those in arrays,
 * domains, ranges and composite types. Columns without enums have none in the result.
 */
export async function readEnumLabels(
  { connections }: Pick<Setting, "connections">,
  columns: readonly ColumnName[],
): Promise<(column: ColumnName) => EnumLabels | undefined> {
  const found = new Map<string, EnumLabels>();
  if (columns.length > 0) {
    // One recursion for all columns: the server would estimate many as so costly that it compiles them.
    const rows = await connections.repeat(statement(query), [JSON.stringify(columns)], "read enums");
    for (const [name, labels] of rows) found.set(name!, JSON.parse(labels!) as EnumLabels);
  }
  return (column) => found.get(JSON.stringify(column));
}

const query = `
  with recursive part(name, oid) as (
    select k.name::text, f.atttypid from json_array_elements($1::json) k(name)
    join pg_namespace n on n.nspname = (parse_ident(k.name->>0))[1]
    join pg_class c on c.relnamespace = n.oid and c.relname = (parse_ident(k.name->>0))[2]
    join pg_attribute f on f.attrelid = c.oid and f.attname = k.name->>1 and f.attnum > 0
    union
    select p.name, m.oid from part p join pg_type t on t.oid = p.oid cross join lateral (
      select t.typelem as oid where t.typelem <> 0
      union all select t.typbasetype where t.typbasetype <> 0
      union all select m.atttypid from pg_attribute m
        where t.typrelid <> 0 and m.attrelid = t.typrelid and m.attnum > 0 and not m.attisdropped
      union all select r.rngsubtype from pg_range r where t.oid in (r.rngtypid, r.rngmultitypid)) m)
  select part.name, json_object_agg(e.oid, e.enumlabel)
  from part join pg_enum e on e.enumtypid = part.oid group by part.name`;

/**
 * What became of a label that a column's enums had. Undefined if all are there: added ones are fine.
 * No trigger sees a renamed label, though each row that holds it has another value from then on.
 * A restored backup has other numbers, but the same labels.
 */
export function renamedLabel(before: EnumLabels, now: EnumLabels): string | undefined {
  const labels = new Set(Object.values(now));
  for (const [number, label] of Object.entries(before)) {
    const current = now[number];
    if (current !== undefined && current !== label) {
      return `a value of its enum was ${JSON.stringify(label)} and is now ${JSON.stringify(current)}, and no trigger saw that its rows changed`;
    }
    if (!labels.has(label)) return `its enum has no value ${JSON.stringify(label)} any more`;
  }
  return undefined;
}
