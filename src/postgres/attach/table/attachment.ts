import { definition } from "../../../schema/index.js";
import { type Setting, statement } from "../../../store/postgres/index.js";
import { ownProperty } from "../../own-property.js";
import { columnShape, isSameType, partsOfShape } from "./column-shape.js";
import { triggerCount, triggerName, triggersOf } from "./definition.js";
import { hiddenRows, type OwnerAccess, ownerAccess } from "./functions-owner.js";
import type { AttachedSource } from "./source.js";
import {
  changedAttributes,
  type EnumLabels,
  readTypeNames,
  renamedLabel,
  type TypeNames,
} from "./type-names.js";

/** What `attachTables` records about a table. */
export interface Recorded {
  /** The SQL table's number in the server. Earlier versions did not record it. */
  readonly relation?: string | undefined;
  readonly keyColumns: readonly string[];
  /** See {@link Attachment.keyConstraint}. Earlier versions did not record it, or without the index. */
  readonly keyConstraint?: string | undefined;
  readonly keyTags: readonly string[];
  /** The types of the key's columns, as casts write them. */
  readonly keyTypes: readonly string[];
  readonly hasTupleKey: boolean;
  /** The codecs' tags, by column. The first version did not record them. */
  readonly columns?: Readonly<Record<string, string>> | undefined;
  /** The SQL columns as they were, by name: see {@link Attachment.shape}. */
  readonly shape?: Readonly<Record<string, string>> | undefined;
  /** Whether the types in `shape` have their schemas. Earlier versions left out those in `search_path`. */
  readonly hasTypeSchemas?: boolean | undefined;
  /** The labels of enums, by column. Earlier versions did not record them. */
  readonly enums?: Readonly<Record<string, EnumLabels>> | undefined;
  /** The attributes of composite types, by column. Earlier versions did not record them. */
  readonly attributes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** How the rows were stored. Earlier versions did not record it. */
  readonly storage?: Storage | undefined;
  /**
   * Changes logged up to this number may have values from before a rewrite: see {@link isRewritten}. The
   * comparison of all rows comes after them. Undefined if no rewrite was noticed.
   */
  readonly rewrittenAt?: string | undefined;
}

/** What an `ALTER TABLE` that stores other values changes. No trigger sees it. */
export interface Storage {
  /** The table's file. `VACUUM FULL`, `CLUSTER` and `TRUNCATE` change it too, but none of the columns. */
  readonly file: string;
  /** The transaction that last defined each column, by name. */
  readonly columns: Readonly<Record<string, string>>;
}

/** A row of `attachments`, with what the server says about its SQL table now. */
export interface Attachment {
  readonly id: string;
  /** The SQL table, quoted. */
  readonly sql: string;
  readonly name: string;
  /** Undefined if the table is not attached yet: its triggers could not be installed. */
  readonly recorded: Recorded | undefined;
  /** Raised by each `attachTables`, and never used twice, also if the table was dropped meanwhile. */
  readonly generation: string;
  /** Logged changes up to this number are obsolete: the comparison of all rows replaces them. */
  readonly since: string;
  readonly parked: { readonly at: string; readonly error: string } | undefined;
  /** Number and type of each column, by name. Undefined if the SQL table does not exist. */
  readonly shape: Readonly<Record<string, string>> | undefined;
  /** The number of the table that has the name now. Undefined if there is none. */
  readonly relation: string | undefined;
  /** The columns of its primary key. */
  readonly keyColumns: readonly string[];
  /** The numbers of the primary key's constraint and of its index. Undefined if it has none. */
  readonly keyConstraint: string | undefined;
  /** The names in the types of the columns with recorded enums or attributes, as they are now. */
  readonly typeNames: Readonly<Record<string, TypeNames>>;
  /** How many of its triggers record changes for this attachment, by every role. */
  readonly triggers: number;
  /** Whether it has a parent or a child, or is a partition. */
  readonly isRelated: boolean;
  /** The server's estimate. Undefined if it has none. */
  readonly estimatedRows: number | undefined;
  /** Whether a crash of the server empties it. */
  readonly isUnlogged: boolean;
  /** Undefined if the SQL table does not exist. */
  readonly ownerAccess: OwnerAccess | undefined;
  /** As it is now, of all columns. Undefined if the SQL table does not exist. */
  readonly storage: Storage | undefined;
}

/**
 * The numbers of the primary key's constraint and index of a table, as a subquery. The first outlives
 * `reindex concurrently`, the second `pg_upgrade`.
 */
export const keyConstraintOf = (table: string) =>
  `(select k.oid || ' ' || k.conindid from pg_constraint k where k.conrelid = ${table} and k.contype = 'p')`;

/** The first version's table lacks columns. Its tables count as not attached, until `attachTables`. */
const query = (schema: string) => `
  select a.id, a.source, a.name, case when r ? 'generation' then a.definition else '' end,
    coalesce(r->>'generation', '0'), coalesce(r->>'since', '0'),
    to_char((r->>'parked_at')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), r->>'error',
    (select json_object_agg(f.attname, ${columnShape("f", "t", "s")})
      from pg_attribute f join pg_type t on t.oid = f.atttypid join pg_namespace s on s.oid = t.typnamespace
      where f.attrelid = c.oid and f.attnum > 0 and not f.attisdropped),
    (select count(*) from pg_trigger g where g.tgrelid = c.oid and g.tgenabled = 'A'
      and starts_with(g.tgname, '${triggerName} ') and ${triggersOf(schema, "g", "a.id")}),
    c.oid,
    (select json_agg(f.attname order by k.place)
      from pg_index i, unnest(i.indkey::smallint[]) with ordinality k(attnum, place), pg_attribute f
      where i.indrelid = c.oid and i.indisprimary and k.place <= i.indnkeyatts
        and f.attrelid = c.oid and f.attnum = k.attnum),
    exists (select from pg_inherits i where c.oid in (i.inhparent, i.inhrelid)),
    case when c.reltuples >= 0 then round(c.reltuples::numeric) end,
    c.relpersistence,
    case when c.oid is not null then ${ownerAccess(schema, "c", "n")} end,
    ${keyConstraintOf("c.oid")},
    case when c.oid is not null then json_build_object('file', c.relfilenode::text, 'columns',
      (select json_object_agg(f.attname, f.xmin::text) from pg_attribute f
        where f.attrelid = c.oid and f.attnum > 0 and not f.attisdropped)) end
  from ${schema}.attachments a
  cross join lateral to_jsonb(a) r
  left join pg_namespace n on n.nspname = (parse_ident(a.source))[1]
  left join pg_class c on c.relnamespace = n.oid and c.relname = (parse_ident(a.source))[2]
  order by a.id`;

/** The attached tables of a schema. Empty if there never was one. */
export async function readAttachments({ connections, schema }: Setting): Promise<readonly Attachment[]> {
  const has = statement("select to_regclass($1) is not null");
  const doing = "read the attached tables";
  const [[exists] = []] = await connections.repeat(has, [`${schema}.attachments`], doing);
  if (exists !== "t") return [];
  const rows = await connections.repeat(statement(query(schema)), [], doing);
  const recordedOf = (text: string | null | undefined) =>
    text === "" ? undefined : (JSON.parse(text!) as Recorded);
  const columns = rows.flatMap(([, sql, , text]) =>
    namedColumns(recordedOf(text)).map((name) => [sql!, name] as const),
  );
  const namesOf = await readTypeNames({ connections }, columns);
  return rows.map(
    ([
      id,
      sql,
      name,
      text,
      generation,
      since,
      at,
      error,
      shape,
      triggers,
      relation,
      keyColumns,
      isRelated,
      rows,
      persistence,
      access,
      keyConstraint,
      storage,
    ]) => ({
      id: id!,
      sql: sql!,
      name: name!,
      recorded: recordedOf(text),
      generation: generation!,
      since: since!,
      parked: error === null ? undefined : { at: at!, error: error! },
      shape: shape === null ? undefined : (JSON.parse(shape!) as Readonly<Record<string, string>>),
      typeNames: Object.fromEntries(
        namedColumns(recordedOf(text)).map((column) => [column, namesOf([sql!, column])]),
      ),
      triggers: Number(triggers),
      relation: relation ?? undefined,
      keyColumns: JSON.parse(keyColumns ?? "[]") as readonly string[],
      keyConstraint: keyConstraint ?? undefined,
      isRelated: isRelated === "t",
      estimatedRows: typeof rows === "string" ? Number(rows) : undefined,
      isUnlogged: persistence === "u",
      ownerAccess: access === null ? undefined : (JSON.parse(access!) as OwnerAccess),
      storage: storage === null ? undefined : (JSON.parse(storage!) as Storage),
    }),
  );
}

/** The columns whose types have recorded names. */
function namedColumns(recorded: Recorded | undefined): readonly string[] {
  return Object.keys({ ...recorded?.enums, ...recorded?.attributes });
}

/**
 * Why changes of the SQL table cannot be trusted any more: a migration changed it, or somebody
 * removed the triggers. Undefined if all is as it was.
 */
export function driftOf({
  sql,
  recorded,
  shape,
  typeNames,
  triggers,
  relation,
  keyColumns,
  keyConstraint,
  isRelated,
  isUnlogged,
  ownerAccess,
}: Attachment): string | undefined {
  if (shape === undefined) return `There is no table ${sql} any more.`;
  if (relation !== (recorded?.relation ?? relation)) {
    return `${sql} is another table than the one that was attached: it was dropped and made again or restored, or another table got its name.`;
  }
  for (const [name, before] of Object.entries(recorded?.shape ?? {})) {
    const now = ownProperty(shape, name);
    const column = `column ${JSON.stringify(name)}`;
    if (now === undefined) return `${sql} has no ${column} any more.`;
    const [[oldNumber, oldType], [number, type]] = [partsOfShape(before), partsOfShape(now)];
    if (!isSameType(oldType, type, recorded?.hasTypeSchemas ?? false))
      return `${sql}, ${column}: its type was ${oldType} and is now ${type}.`;
    if (oldNumber !== number)
      return `${sql}, ${column}: it was dropped and added again, or another column got its name.`;
    const { labels = {}, attributes = [] } = ownProperty(typeNames, name) ?? {};
    const renamed =
      renamedLabel(ownProperty(recorded?.enums, name) ?? {}, labels) ??
      changedAttributes(ownProperty(recorded?.attributes, name) ?? attributes, attributes);
    if (renamed !== undefined) return `${sql}, ${column}: ${renamed}.`;
  }
  const keyBefore = recorded?.keyColumns ?? [];
  if (recorded !== undefined && JSON.stringify(keyBefore) !== JSON.stringify(keyColumns)) {
    const now = keyColumns.length === 0 ? "none" : `(${keyColumns.join(", ")})`;
    return `${sql}: its primary key was (${keyBefore.join(", ")}) and is now ${now}.`;
  }
  const [constraint, index] = keyConstraint?.split(" ") ?? [];
  const [constraintBefore = constraint, indexBefore] = recorded?.keyConstraint?.split(" ") ?? [];
  if (constraint !== constraintBefore && index !== indexBefore) {
    return `${sql}: its primary key was dropped and made again, so two rows may have had one key meanwhile.`;
  }
  // Reading it reads the rows of its children, and triggers do not see changes of these.
  if (isRelated) return `${sql} is a part of another table, or has parts. Only ordinary tables are followed.`;
  if (isUnlogged) return unloggedTable(sql);
  const hidden = ownerAccess && hiddenRows(sql, ownerAccess);
  if (hidden !== undefined) return hidden;
  if (triggers === triggerCount) return undefined;
  return `Triggers of ${sql} are missing or disabled, so changes may not have been logged.`;
}

/** Whether the primary key of an attachment without drift has one other number. */
export function isRenumbered({ recorded, keyConstraint }: Attachment): boolean {
  return recorded?.storage !== undefined && recorded.keyConstraint !== keyConstraint;
}

/** Whether an `ALTER TABLE` has rewritten the rows, and maybe stored other values in the recorded columns. */
export function isRewritten({ recorded, storage }: Attachment): boolean {
  const before = recorded?.storage;
  if (before === undefined || before.file === storage?.file) return false;
  return Object.entries(before.columns).some(([name, by]) => ownProperty(storage?.columns, name) !== by);
}

/** Why an unlogged table is not followed. */
export function unloggedTable(sql: string): string {
  return `${sql} is unlogged: a crash of the server empties it, and no trigger sees that. Make it permanent: alter table ${sql} set logged.`;
}

/** The tags of the columns that a program declares. */
export function declaredColumns({ target }: AttachedSource): Readonly<Record<string, string>> {
  return Object.fromEntries([...target[definition].columns].map(([name, { codec }]) => [name, codec!.tag]));
}

/** The tags of the parts of the key that a program declares. */
export function declaredKey({ target }: AttachedSource): readonly string[] {
  const { tag } = target[definition].key;
  return /^tuple\((.*)\)$/.exec(tag)?.[1]?.split(",") ?? [tag];
}

/** Whether a program declares a table as it was attached. */
export function isSameDeclaration(source: AttachedSource, { name, recorded }: Attachment): boolean {
  const columns = recorded?.columns;
  const sorted = (tags: Readonly<Record<string, string>>) => JSON.stringify(Object.entries(tags).sort());
  return (
    name === source.target[definition].name &&
    JSON.stringify(recorded?.keyTags) === JSON.stringify(declaredKey(source)) &&
    (columns === undefined || sorted(columns) === sorted(declaredColumns(source)))
  );
}
