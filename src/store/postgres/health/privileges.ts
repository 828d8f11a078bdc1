import { type Connections, statement } from "../wire/connections.js";

/** A privilege that the connected role needs and does not have. */
export interface MissingPrivilege {
  /** Such as `insert, update on "search".cells`. */
  readonly what: string;
  /** The statement that grants it, for the owner of the schema. */
  readonly grant: string;
  /** Whether only programs that write need it. */
  readonly isForWriting: boolean;
}

/** What a program needs on each object of the schema. `docs/postgres.md` has the same list. */
const needed: Readonly<Record<string, readonly string[]>> = {
  cells: ["select", "insert", "update", "delete"],
  writers: ["select", "insert", "update", "delete"],
  tables: ["select", "insert"],
  state: ["select", "update"],
  durable: ["select", "update"],
  woken: ["select", "update"],
};

/** Only programs that write look at it. It is no table, so a role that reads all tables may not read it. */
const sequence = "woken";

/**
 * The privileges that the role does not have, in the schema `schema`, a quoted name. Objects that do
 * not exist are left out: `percolator init` makes them.
 */
export async function missingPrivileges(
  connections: Connections,
  schema: string,
  role: string,
): Promise<readonly MissingPrivilege[]> {
  const doing = "look for missing privileges";
  const [found] = await connections.repeat(
    statement(`select n.oid, has_schema_privilege(n.oid, 'usage') from pg_namespace n
      where '"' || replace(n.nspname, '"', '""') || '"' = $1`),
    [schema],
    doing,
  );
  if (found === undefined) return [];
  const [namespace, mayUse] = found;
  const to = `to "${role.replaceAll('"', '""')}";`;
  const missing: MissingPrivilege[] = [];
  if (mayUse !== "t") {
    const what = `usage on schema ${schema}`;
    missing.push({ what, grant: `grant ${what} ${to}`, isForWriting: false });
  }
  const lacking = await connections.repeat(
    statement(`select c.relname, p.privilege
      from unnest($2::text[], $3::text[]) p(name, privilege)
      join pg_class c on c.relnamespace = $1::oid and c.relname = p.name
      where not case when c.relkind = 'S' then has_sequence_privilege(c.oid, p.privilege)
        else has_table_privilege(c.oid, p.privilege) end`),
    [namespace, ...pairs()],
    doing,
  );
  for (const [name, all] of Object.entries(needed)) {
    // The server decides on the order of the rows.
    const privileges = all.filter((each) =>
      lacking.some(([of, privilege]) => of === name && privilege === each),
    );
    for (const isForWriting of [false, true]) {
      const some = privileges.filter((each) => (each !== "select" || name === sequence) === isForWriting);
      if (some.length === 0) continue;
      const what = `${some.join(", ")} on ${schema}.${name}`;
      missing.push({ what, grant: `grant ${what} ${to}`, isForWriting });
    }
  }
  return [...missing, ...(await missingFunctions(connections, schema, namespace!, to, doing))];
}

/** The names of the objects, and a privilege of each, as two arrays of parameters. */
function pairs(): readonly [string[], string[]] {
  const all = Object.entries(needed).flatMap(([name, privileges]) =>
    privileges.map((privilege) => [name, privilege] as const),
  );
  return [all.map(([name]) => name), all.map(([, privilege]) => privilege)];
}

async function missingFunctions(
  connections: Connections,
  schema: string,
  namespace: string,
  to: string,
  doing: string,
): Promise<readonly MissingPrivilege[]> {
  const [row] = await connections.repeat(
    statement(`select (select count(*) from pg_proc where pronamespace = $1::oid and not has_function_privilege(oid, 'execute')),
      has_function_privilege('pg_logical_emit_message(boolean, text, text)', 'execute')`),
    [namespace],
    doing,
  );
  const [own, mayEmit] = row!;
  const missing: MissingPrivilege[] = [];
  if (own !== "0") {
    const what = `execute on all functions in schema ${schema}`;
    missing.push({ what, grant: `grant ${what} ${to}`, isForWriting: false });
  }
  if (mayEmit !== "t") {
    const what = "execute on function pg_logical_emit_message(boolean, text, text)";
    missing.push({ what, grant: `grant ${what} ${to}`, isForWriting: true });
  }
  return missing;
}
