import { type Setting, statement } from "../../../store/postgres/index.js";

/** The labels of a column's enums, by the number that the server gave each when it was made. */
export type EnumLabels = Readonly<Record<string, string>>;

/** A column of an SQL table, which is quoted. */
export type ColumnName = readonly [sql: string, column: string];

/** The names in a column's type that its values show. */
export interface TypeNames {
  /** The labels of its enums. Undefined if it has none. */
  readonly labels?: EnumLabels | undefined;
  /** The attributes of its composite types, in their order. Undefined if it has none. */
  readonly attributes?: readonly string[] | undefined;
}

/**
 * The names in the types of columns: in the type itself, and in those of which arrays, domains, ranges
 * and composite types are made.
 */
export async function readTypeNames(
  { connections }: Pick<Setting, "connections">,
  columns: readonly ColumnName[],
): Promise<(column: ColumnName) => TypeNames> {
  const found = new Map<string, TypeNames>();
  if (columns.length > 0) {
    // One recursion for all columns: the server would estimate many as so costly that it compiles them.
    const rows = await connections.repeat(statement(query), [JSON.stringify(columns)], "read types");
    for (const [name, labels, attributes] of rows) {
      found.set(name!, {
        labels: (JSON.parse(labels ?? "null") as EnumLabels | null) ?? undefined,
        attributes: (JSON.parse(attributes ?? "null") as readonly string[] | null) ?? undefined,
      });
    }
  }
  return (column) => found.get(JSON.stringify(column)) ?? {};
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
  select part.name, json_object_agg(e.oid, e.enumlabel) filter (where e.oid is not null),
    json_agg(f.attname order by f.attrelid, f.attnum) filter (where f.attrelid is not null)
  from part left join pg_enum e on e.enumtypid = part.oid
  left join pg_type t on t.oid = part.oid and t.typrelid <> 0
  left join pg_attribute f on f.attrelid = t.typrelid and f.attnum > 0 and not f.attisdropped
  group by part.name`;

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

/**
 * What became of the attributes of a column's composite types. Undefined if they are as they were. No
 * trigger sees a renamed, added or dropped one, though each row shows its names.
 */
export function changedAttributes(before: readonly string[], now: readonly string[]): string | undefined {
  if (JSON.stringify(before) === JSON.stringify(now)) return undefined;
  const [were, are] = [before.join(", "), now.join(", ")];
  return `the attributes of its composite type were (${were}) and are now (${are}), and no trigger saw that its rows changed`;
}
