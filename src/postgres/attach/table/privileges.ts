import { SchemaError } from "../../../errors/index.js";
import { type Setting, statement } from "../../../store/postgres/index.js";
import { triggerFunctions, triggersOf } from "./definition.js";
import { checkOwnerAccess, type OwnerAccess, ownerAccess } from "./functions-owner.js";
import type { AttachedSource } from "./source.js";

const doing = "look at privileges";

/** Throws if this role may not attach the tables. */
export async function checkPrivileges(setting: Setting, sources: readonly AttachedSource[]): Promise<void> {
  const { connections, schema } = setting;
  const may = statement(
    "select current_user, has_schema_privilege(oid, 'CREATE') from pg_namespace where oid = $1::regnamespace",
  );
  const [[role, create] = []] = await connections.repeat(may, [schema], doing);
  if (create !== "t") {
    throw new SchemaError(
      `The role ${role} may not create the outbox of attached tables in the schema ${schema}. Grant it CREATE on the schema, or attach with the schema's owner.`,
    );
  }
  await checkOutboxOwner(setting);
  for (const { sql } of sources) {
    const owns = statement(
      `select pg_has_role(c.relowner, 'USAGE'), pg_get_userbyid(c.relowner), has_schema_privilege(n.oid, 'USAGE'),
         ${ownerAccess(schema, "c", "n")}
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = (parse_ident($1))[1] and c.relname = (parse_ident($1))[2]`,
    );
    const [[isOwner, owner, usage, access] = []] = await connections.repeat(owns, [sql], doing);
    if (isOwner !== "t") {
      throw new SchemaError(
        `Only the owner of ${sql} may attach it, because the triggers fire for replicated changes too. The role ${role} is not ${owner}, and no member of it.`,
      );
    }
    if (usage !== "t") throw new SchemaError(`The role ${role} needs USAGE on the schema of ${sql}.`);
    checkOwnerAccess(sql, JSON.parse(access!) as OwnerAccess);
    await checkTriggers(setting, sql, sql);
  }
}

/** Throws if another role made the outbox: only its owner may bring its functions up to date. */
export async function checkOutboxOwner({ connections, schema }: Setting): Promise<void> {
  const foreign = statement(
    `select p.oid::regprocedure, pg_get_userbyid(p.proowner), current_user from pg_proc p
     where p.oid in (${triggerFunctions(schema)}) and not pg_has_role(p.proowner, 'USAGE') limit 1`,
  );
  const [[name, owner, role] = []] = await connections.repeat(foreign, [], doing);
  if (name === undefined) return;
  throw new SchemaError(
    `The outbox of attached tables in the schema ${schema} belongs to the role ${owner}, and the role ${role} is no ` +
      `member of it. Attach and detach as ${owner}, or make ${role} a member: grant ${owner} to ${role}.`,
  );
}

/**
 * Throws if triggers of the attachment of `sql` are on a table that is not this role's. A table that
 * was renamed since it was attached keeps them. `but`: a table that may keep them.
 */
export async function checkTriggers(
  { connections, schema }: Setting,
  sql: string,
  but?: string,
): Promise<void> {
  const has = statement("select to_regclass($1) is not null");
  const [[exists] = []] = await connections.repeat(has, [`${schema}.attachments`], doing);
  if (exists !== "t") return;
  const foreign = statement(
    `select g.tgrelid::regclass, pg_get_userbyid(c.relowner), current_user,
       (select string_agg(format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass), '; ') from pg_trigger t
        where t.tgrelid = g.tgrelid and ${triggersOf(schema, "t", "a.id")})
     from ${schema}.attachments a join pg_trigger g on ${triggersOf(schema, "g", "a.id")}
     join pg_class c on c.oid = g.tgrelid
     where a.source = $1 and g.tgrelid is distinct from to_regclass($2) and not pg_has_role(c.relowner, 'USAGE') limit 1`,
  );
  const [[table, owner, role, drops] = []] = await connections.repeat(foreign, [sql, but ?? null], doing);
  if (table === undefined) return;
  throw new SchemaError(
    `The table ${table} still has the triggers of ${sql}, under which name it was attached earlier. The role ${role} is ` +
      `not its owner ${owner}, and no member of it, so it cannot remove them. Remove them as ${owner}, and then repeat: ${drops}.`,
  );
}
