import { SchemaError } from "../../../errors/index.js";
import { definition } from "../../../schema/index.js";
import { type Setting, statement } from "../../../store/postgres/index.js";
import { declaredKey, keyConstraintOf, unloggedTable } from "./attachment.js";
import { columnShape } from "./column-shape.js";
import type { AttachedSource } from "./source.js";
import { readTypeNames, type TypeNames } from "./type-names.js";
import { columnTypes, keyTypes } from "./values.js";

/** A column of an SQL table. */
export interface SqlColumn {
  readonly name: string;
  /** The type's name, or `enum`. For a domain, that of the type that it restricts. */
  readonly type: string;
  readonly isDomain: boolean;
  /** Whether it is generated when it is read. */
  readonly isVirtual: boolean;
  /** The type as a cast writes it. */
  readonly cast: string;
  /** Number and type, as an attachment records them: see {@link columnShape}. */
  readonly shape: string;
  /** The transaction that last defined it. */
  readonly definedBy: string;
  /** The names in its type that its values show. */
  readonly typeNames: TypeNames;
  /** The place in the primary key, from 1. Undefined if it is no part of it. */
  readonly keyPlace: number | undefined;
}

/** An SQL table. */
export interface SqlTable {
  /** The number that the server gave the table when it was made. It outlives a change of the name. */
  readonly relation: string;
  /** The numbers of the primary key's constraint and of its index. Undefined if it has none. */
  readonly keyConstraint: string | undefined;
  readonly file: string;
  readonly columns: readonly SqlColumn[];
}

/** The SQL table. Throws if it does not fit the declaration. */
export async function fittingTable(setting: Setting, source: AttachedSource): Promise<SqlTable> {
  const { sql, target } = source;
  const found = await readTable(setting, sql);
  const { columns } = found;
  const byName = new Map(columns.map((column) => [column.name, column]));
  const defined = target[definition];
  for (const { name, codec } of defined.columns.values()) {
    const column = byName.get(name);
    if (column === undefined) {
      throw new SchemaError(
        `${sql} has no column ${JSON.stringify(name)}. Its columns: ${[...byName.keys()].join(", ")}.`,
      );
    }
    if (column.isVirtual) {
      throw new SchemaError(
        `${sql}, column ${name}: it is a virtual generated column, whose value triggers do not see. Drop it, and add it with \`stored\`.`,
      );
    }
    const { tag } = codec!;
    if (!(tag in columnTypes)) {
      throw new SchemaError(
        `${sql}, column ${name}: a column of an attached table cannot be ${tag}. Use one of ${Object.keys(columnTypes).join(", ")}.`,
      );
    }
    const fitting = columnTypes[tag];
    if (fitting?.includes(column.type) === false) throw unfit(sql, column, tag, fitting);
  }
  checkKey(source, columns);
  return found;
}

function checkKey(source: AttachedSource, columns: readonly SqlColumn[]): void {
  const { sql } = source;
  const tags = declaredKey(source);
  const keys = columns.filter(({ keyPlace }) => keyPlace !== undefined);
  if (keys.length !== tags.length) {
    throw new SchemaError(
      keys.length === 0
        ? `${sql} has no primary key, so its rows have no key here. Add one.`
        : `The primary key of ${sql} has ${keys.length} columns, but \`key\` has ${tags.length} parts.`,
    );
  }
  for (const column of keys) {
    const tag = tags[column.keyPlace! - 1]!;
    const fitting = keyTypes[tag] ?? [];
    // A constraint of a domain may refuse a key that a row of ours still has.
    if (column.isDomain || !fitting.includes(column.type))
      throw unfit(sql, column, `a key part ${tag}`, fitting);
  }
}

function unfit(sql: string, { name, cast }: SqlColumn, tag: string, fitting: readonly string[]): SchemaError {
  const list = fitting.length === 0 ? "no type of SQL" : fitting.join(", ");
  return new SchemaError(
    `${sql}, column ${name}: its type ${cast} does not fit ${tag}, which takes ${list}.`,
  );
}

async function readTable({ connections }: Setting, sql: string): Promise<SqlTable> {
  const doing = `look at ${sql}`;
  const [kind] = await connections.repeat(
    statement(
      `select c.oid, relkind, exists (select from pg_inherits where c.oid in (inhparent, inhrelid)),
         exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and not i.indimmediate),
         relpersistence, ${keyConstraintOf("c.oid")}, relfilenode
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = (parse_ident($1))[1] and c.relname = (parse_ident($1))[2]`,
    ),
    [sql],
    doing,
  );
  if (kind === undefined) throw new SchemaError(`There is no table ${sql} in this database of PostgreSQL.`);
  const [oid, relkind, isRelated, isDeferrable, persistence, keyConstraint, file] = kind;
  if (relkind !== "r" || isRelated === "t") {
    const what: Readonly<Record<string, string>> = {
      v: "a view",
      m: "a materialized view",
      f: "a foreign table",
      p: "a partitioned table",
      r: "a part of another table, or has parts",
    };
    throw new SchemaError(`${sql} is ${what[relkind!] ?? "no table"}. Only ordinary tables can be attached.`);
  }
  if (persistence === "u") throw new SchemaError(unloggedTable(sql));
  if (persistence === "t") {
    throw new SchemaError(
      `${sql} is a temporary table of one session. Only permanent tables can be attached.`,
    );
  }
  if (isDeferrable === "t") {
    throw new SchemaError(
      `The primary key of ${sql} is deferrable, so that two rows may have one key for a moment. Make it not deferrable.`,
    );
  }
  const rows = await connections.repeat(
    statement(
      `select a.attname, (with recursive base as (
           select t.* union all select b.* from base join pg_type b on b.oid = base.typbasetype)
         select case when typtype = 'e' then 'enum' else typname end from base where typtype <> 'd'), t.typtype = 'd',
         case n.nspname when 'pg_catalog' then format_type(a.atttypid, a.atttypmod)
           else quote_ident(n.nspname) || '.' || quote_ident(t.typname) end,
         ${columnShape("a", "t", "n")},
         (select k.place from pg_index i, unnest(i.indkey::smallint[]) with ordinality k(attnum, place)
          where i.indrelid = a.attrelid and i.indisprimary and k.attnum = a.attnum and k.place <= i.indnkeyatts),
         a.attgenerated = 'v', a.xmin
       from pg_attribute a join pg_type t on t.oid = a.atttypid join pg_namespace n on n.oid = t.typnamespace
       where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    ),
    [oid],
    doing,
  );
  const namesOf = await readTypeNames(
    { connections },
    rows.map(([name]) => [sql, name!]),
  );
  const columns = rows.map(([name, type, isDomain, cast, shape, place, isVirtual, definedBy]) => ({
    name: name!,
    type: type!,
    isDomain: isDomain === "t",
    isVirtual: isVirtual === "t",
    cast: cast!,
    shape: shape!,
    definedBy: definedBy!,
    typeNames: namesOf([sql, name!]),
    keyPlace: place === null ? undefined : Number(place),
  }));
  return { relation: oid!, keyConstraint: keyConstraint ?? undefined, file: file!, columns };
}
