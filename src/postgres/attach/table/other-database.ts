import { SchemaError } from "../../../errors/index.js";
import { quoteText, type Setting, statement } from "../../../store/postgres/index.js";
import { triggerName } from "./definition.js";

/** A query for the schemas of other databases that have triggers on a table. */
function othersQuery(sql: string, schema: string): string {
  return `select quote_ident(s.nspname) from pg_trigger g
     join pg_class c on c.oid = g.tgrelid join pg_namespace n on n.oid = c.relnamespace
     join pg_proc p on p.oid = g.tgfoid join pg_namespace s on s.oid = p.pronamespace
     where n.nspname = (parse_ident(${sql}))[1] and c.relname = (parse_ident(${sql}))[2]
       and starts_with(g.tgname, '${triggerName} ') and p.proname in ('log_row', 'log_truncate')
       and s.oid <> ${schema}::regnamespace limit 1`;
}

/**
 * Throws if the table has the triggers of another database of the server, which is another schema.
 * Triggers have the same names in all of them, so installing ours would replace the others, and that
 * database would see no more changes.
 */
export async function checkOtherDatabases({ connections, schema }: Setting, sql: string): Promise<void> {
  const foreign = statement(othersQuery("$1", "$2"));
  const [[other] = []] = await connections.repeat(foreign, [sql, schema], "look for other databases");
  if (other === undefined) return;
  throw new SchemaError(
    `${sql} is attached to another database already, in the schema ${other}, and its triggers can serve only one. ` +
      "Detach it there first, with `detachTable` or `percolator detach`, or use that database for these observers too.",
  );
}

/**
 * Fails the script that installs the triggers if another database did so since {@link
 * checkOtherDatabases}. The script must hold the table's lock.
 */
export function stillUnshared(schema: string, sql: string): string {
  const others = othersQuery(quoteText(sql), quoteText(schema));
  return `do ${quoteText(`begin if exists (${others}) then raise 'attached to another database'; end if; end`)};`;
}
