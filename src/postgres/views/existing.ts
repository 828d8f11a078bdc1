import { quoteText, type Setting, statement } from "../../store/postgres/index.js";

/** A relation in the schema of the views. */
export interface Existing {
  readonly name: string;
  /** The mark of a view of this package. Undefined for anything else. */
  readonly mark: Mark | undefined;
  /** Whether it is a view of this package that reads this database, whatever the schema was called. */
  readonly isOwn: boolean;
  /** Name and type of each column, in order. */
  readonly columns: readonly (readonly [name: string, type: string])[];
  /** Who may read it besides the owner: roles as SQL. */
  readonly readers: readonly string[];
  /** Who may read only some columns: a column, and a role as SQL. */
  readonly columnReaders: readonly (readonly [column: string, reader: string])[];
}

/** The comment on a view. It says what it is. */
export interface Mark {
  readonly table: string;
  readonly family?: string | undefined;
  /** The number of the table. */
  readonly number: number;
  /** Of the view's query. */
  readonly digest: string;
}

const prefix = "percolatordb ";

export function encodeMark(mark: Mark): string {
  return `${prefix}${JSON.stringify(mark)}`;
}

function decodeMark(comment: string | null): Mark | undefined {
  if (comment?.startsWith(prefix) !== true) return undefined;
  try {
    const mark = JSON.parse(comment.slice(prefix.length)) as Partial<Mark> | null;
    return typeof mark?.table === "string" && Number.isInteger(mark.number) ? (mark as Mark) : undefined;
  } catch {
    return undefined;
  }
}

/** The grantee of a row `g` of `aclexplode`, as `grant ... to` writes it. */
const reader = `case when g.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end
            || case when g.is_grantable then ' with grant option' else '' end`;

/** Whether the view `c` reads the cells of a database, as a condition. */
const readsCells = (schema: string) => `exists (
  select from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
  where r.ev_class = c.oid and d.refclassid = 'pg_class'::regclass and d.refobjid = to_regclass(${quoteText(`${schema}.cells`)}))`;

/** Everything in a schema that has a name that a view could have. */
export async function readExisting(
  { connections, schema }: Setting,
  ofViews: string,
): Promise<ReadonlyMap<string, Existing>> {
  const rows = await connections.repeat(
    statement(
      `select c.relname, case when c.relkind = 'v' then obj_description(c.oid, 'pg_class') end,
         (select json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod)) order by a.attnum)
          from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
         (select json_agg(${reader}) from aclexplode(c.relacl) g
          where g.privilege_type = 'SELECT' and g.grantee <> c.relowner),
         (select json_agg(json_build_array(a.attname, ${reader})) from pg_attribute a, aclexplode(a.attacl) g
          where a.attrelid = c.oid and g.privilege_type = 'SELECT' and g.grantee <> c.relowner),
         ${readsCells(schema)}
       from pg_class c where c.relnamespace = to_regnamespace($1)
       union all
       select t.typname, null, null, null, null, false from pg_type t
       where t.typnamespace = to_regnamespace($1) and t.typrelid = 0 and t.typelem = 0`,
    ),
    [ofViews],
    "look for views",
  );
  return new Map(
    rows.map(([name, comment, columns, readers, columnReaders, isOwn]) => [
      name!,
      {
        name: name!,
        mark: decodeMark(comment!),
        isOwn: decodeMark(comment!) !== undefined && isOwn === "t",
        columns: JSON.parse(columns ?? "[]") as Existing["columns"],
        readers: JSON.parse(readers ?? "[]") as readonly string[],
        columnReaders: JSON.parse(columnReaders ?? "[]") as Existing["columnReaders"],
      },
    ]),
  );
}

/** The functions that SQL calls to read a key, in order. PostgreSQL shows an index in its own words. */
function keyFunctions(sql: string): string {
  return (sql.match(/\bview_key\w*(?=\()/g) ?? []).join();
}

/**
 * The state of an index of the database's schema. It is outdated if it has the columns of another key
 * than `columns`: the table was dropped, and declared again.
 */
export async function readIndex(
  { connections, schema }: Setting,
  name: string,
  columns = "",
): Promise<"missing" | "invalid" | "outdated" | "valid"> {
  const rows = await connections.repeat(
    statement(
      "select i.indisvalid, pg_get_indexdef(i.indexrelid) from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname = $2 and c.relnamespace = to_regnamespace($1)",
    ),
    [schema, name],
    "look for an index",
  );
  if (rows[0] === undefined) return "missing";
  const [isValid, built] = rows[0];
  if (isValid !== "t") return "invalid";
  return keyFunctions(built!) === keyFunctions(columns) ? "valid" : "outdated";
}

/** What views need in the database's schema, as far as it is there: indexes by name, and functions. */
export async function readSupport({
  connections,
  schema,
}: Setting): Promise<{ readonly indexes: readonly string[]; readonly hasFunctions: boolean }> {
  const rows = await connections.repeat(
    statement(
      `select relname from pg_class where relnamespace = to_regnamespace($1) and relkind = 'i' and relname ~ '^view_(locks|[0-9]+)$'
       union all select null from pg_proc where pronamespace = to_regnamespace($1) and proname = 'view_key'`,
    ),
    [schema],
    "look for indexes and functions of views",
  );
  return {
    indexes: rows.flatMap(([name]) => (name === null ? [] : [name!])),
    hasFunctions: rows.some(([name]) => name === null),
  };
}

/** The marks of all views of a database, in every schema. */
export async function readMarks({
  connections,
  schema,
}: Setting): Promise<readonly { readonly schema: string; readonly mark: Mark }[]> {
  const rows = await connections.repeat(
    statement(
      `select n.nspname, obj_description(c.oid, 'pg_class') from pg_class c
       join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'v' and ${readsCells(schema)}`,
    ),
    [],
    "look for views",
  );
  return rows.flatMap(([schema, comment]) => {
    const mark = decodeMark(comment!);
    return mark === undefined ? [] : [{ schema: schema!, mark }];
  });
}
