import { SchemaError } from "../../../errors/index.js";
import { quoteText } from "../../../store/postgres/index.js";
import { triggerFunctions } from "./definition.js";

/**
 * What the role that owns the outbox may do with an SQL table. The triggers' functions run as this
 * role: they write to the outbox, and read the table after a trigger of the application wrote it.
 */
export interface OwnerAccess {
  readonly owner: string;
  /** Whether row-level security hides rows from it. */
  readonly isHidden: boolean;
  /** The statements that grant what it lacks. Empty if it has all. */
  readonly grants: string;
}

/**
 * {@link OwnerAccess} as JSON, as a subquery. `table` and `namespace` are rows of `pg_class` and
 * `pg_namespace`. Before the functions exist, their owner is the role that asks.
 */
export function ownerAccess(schema: string, table: string, namespace: string): string {
  const [c, n] = [table, namespace];
  const ours = quoteText(schema);
  const outbox = `to_regclass(${quoteText(`${schema}.outbox`)})`;
  // `row_security_active` answers only for the role that asks.
  return `(select json_build_object('owner', r.rolname,
      'isHidden', ${c}.relrowsecurity and not r.rolsuper and not r.rolbypassrls
        and (${c}.relforcerowsecurity or not pg_has_role(r.oid, ${c}.relowner, 'USAGE')),
      'grants', concat_ws('; ',
        case when not has_schema_privilege(r.oid, ${ours}::regnamespace, 'USAGE') then format('grant usage on schema %s to %I', ${ours}, r.rolname) end,
        case when not has_table_privilege(r.oid, ${outbox}, 'INSERT') then format('grant insert on %s to %I', ${outbox}, r.rolname) end,
        case when not has_schema_privilege(r.oid, ${n}.oid, 'USAGE') then format('grant usage on schema %I to %I', ${n}.nspname, r.rolname) end,
        case when not has_table_privilege(r.oid, ${c}.oid, 'SELECT') then format('grant select on %I.%I to %I', ${n}.nspname, ${c}.relname, r.rolname) end))
    from pg_roles r where r.oid = coalesce((select p.proowner from pg_proc p where p.oid in (${triggerFunctions(schema)}) limit 1),
      (select m.oid from pg_roles m where m.rolname = current_user)))`;
}

/** What row-level security hides from the role that owns the outbox. Undefined if nothing. */
export function hiddenRows(sql: string, { owner, isHidden }: OwnerAccess): string | undefined {
  if (!isHidden) return undefined;
  return (
    `Row-level security hides rows of ${sql} from the role ${owner}, which owns the outbox, so the triggers cannot ` +
    `read the table. Give ${owner} BYPASSRLS, or let it own the table without FORCE ROW LEVEL SECURITY.`
  );
}

/** What the role that owns the outbox lacks. Undefined if it has all. */
export function lackingGrants(sql: string, { owner, grants }: OwnerAccess): string | undefined {
  if (grants === "") return undefined;
  return `The role ${owner}, which owns the outbox, lacks privileges, so the triggers of ${sql} can fail or cannot read it: ${grants}.`;
}

/** Throws if the triggers could not read the table, or not write to the outbox. */
export function checkOwnerAccess(sql: string, access: OwnerAccess): void {
  const problem = lackingGrants(sql, access) ?? hiddenRows(sql, access);
  if (problem !== undefined) throw new SchemaError(problem);
}
