import { type Connections, statement } from "../wire/connections.js";
import { type MissingPrivilege, missingPrivileges } from "./privileges.js";
import { examineSessions, type SessionFacts } from "./sessions.js";

/** Settings that {@link PostgresFacts.settings} has, as far as the server knows them. */
const settings = [
  "autovacuum",
  "default_transaction_isolation",
  "default_transaction_read_only",
  "fsync",
  "full_page_writes",
  "lock_timeout",
  "max_connections",
  "reserved_connections",
  "statement_timeout",
  "superuser_reserved_connections",
  "synchronous_commit",
  "synchronous_standby_names",
  "track_counts",
  "transaction_timeout",
] as const;

/** A transaction that keeps the server from removing the rows that died since its start. */
export interface HorizonHolder {
  /** What holds it. */
  readonly kind: "connection" | "prepared transaction";
  /** The process of the server, or the name of what has none. */
  readonly name: string;
  readonly application: string;
  readonly role: string;
  /** Such as `active` or `idle in transaction`. */
  readonly state: string;
  /** From the start of the transaction. Undefined if the server does not say. */
  readonly ageMs: number | undefined;
  /** When its last statement began, as an ISO time. */
  readonly queryStart: string | undefined;
}

/** One table of the schema, as the server counts it. */
export interface TableFacts {
  readonly name: string;
  readonly bytes: number;
  readonly indexBytes: number;
  readonly live: number;
  readonly dead: number;
  /** Whether the table's own settings allow autovacuum. */
  readonly autovacuum: boolean;
  /** When autovacuum last passed, as an ISO time. Undefined if never. */
  readonly vacuumed: string | undefined;
}

/** A standby that is connected. */
export interface StandbyFacts {
  readonly name: string;
  readonly state: string;
  /** `async`, `potential`, `sync` or `quorum`. */
  readonly syncState: string;
  readonly lagMs: number | undefined;
  readonly lagBytes: number | undefined;
}

/** A replication slot. */
export interface SlotFacts {
  readonly name: string;
  readonly active: boolean;
  /** How much of the log the server keeps for it, in bytes. */
  readonly keptBytes: number;
}

/** What a server says about itself, the role of this connection, and a schema. */
export interface PostgresFacts {
  /** Such as `15.18`. */
  readonly version: string;
  /** Such as 150018. */
  readonly versionNumber: number;
  readonly role: string;
  readonly isSuperuser: boolean;
  /** Whether the role sees the other roles' transactions. */
  readonly seesAll: boolean;
  readonly isStandby: boolean;
  /** The schemas of the search path in which every role may create functions. */
  readonly openSchemas: readonly string[];
  /** The server's clock minus this machine's, in milliseconds, by half of the round trip at the most. */
  readonly clockAheadMs: number;
  readonly settings: Readonly<Partial<Record<(typeof settings)[number], string>>>;
  readonly connections: {
    readonly used: number;
    /** Connections of this role, and the role's own limit. Undefined: no limit. */
    readonly usedByRole: number;
    readonly roleLimit: number | undefined;
    /** What one process of this library may use with the options of the location. */
    readonly perProcess: number;
  };
  /** Connections and others that hold back the removal of dead rows, the oldest first. */
  readonly holders: readonly HorizonHolder[];
  readonly tables: readonly TableFacts[];
  readonly standbys: readonly StandbyFacts[];
  readonly slots: readonly SlotFacts[];
  readonly missing: readonly MissingPrivilege[];
  /**
   * What lies between this process and the server. Undefined if it could not be examined.
   * `prepares`: whether the location allows prepared statements.
   */
  readonly sessions: (SessionFacts & { readonly prepares: boolean }) | undefined;
}

/** What the location says, and the facts of its connections do not. */
export interface LocationSettings {
  /** The most connections of a process. */
  readonly perProcess: number;
  /** Whether its store prepares statements. */
  readonly prepares: boolean;
}

const ofServer = `
select json_build_object(
  'version', current_setting('server_version'), 'versionNumber', current_setting('server_version_num')::int4,
  'role', current_user, 'isSuperuser', (select rolsuper from pg_roles where rolname = current_user),
  'seesAll', pg_has_role(current_user, 'pg_read_all_stats', 'usage'), 'isStandby', pg_is_in_recovery(),
  'openSchemas', (select coalesce(json_agg(name), '[]') from pg_catalog.unnest(current_schemas(false)) name
    where has_schema_privilege('public', name, 'create')),
  'nowMs', extract(epoch from clock_timestamp()) * 1000,
  'used', (select sum(numbackends) from pg_stat_database),
  'usedByRole', (select count(*) from pg_stat_activity where usename = current_user),
  'roleLimit', (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
  'settings', (select json_object_agg(name, setting) from pg_settings where name = any($1)))`;

const ofHolders = `
select coalesce(json_agg(h order by h."ageMs" desc nulls last), '[]') from (
  (select 'connection' as kind, pid::text as name, coalesce(application_name, '') as application, coalesce(usename, '') as role,
    coalesce(state, '') as state, (extract(epoch from clock_timestamp() - xact_start) * 1000)::int8 as "ageMs",
    query_start as "queryStart"
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
    and (backend_xmin is not null or backend_xid is not null)
  order by xact_start limit 5)
  union all
  (select 'prepared transaction', gid, '', owner, 'prepared', (extract(epoch from clock_timestamp() - prepared) * 1000)::int8, null
  from pg_prepared_xacts where database = current_database() order by prepared limit 5)
) h`;

const ofTables = `
select coalesce(json_agg(t order by t.name), '[]') from (
  select c.relname as name, pg_table_size(c.oid) as bytes, pg_indexes_size(c.oid) as "indexBytes",
    coalesce(s.n_live_tup, 0) as live, coalesce(s.n_dead_tup, 0) as dead, s.last_autovacuum as vacuumed,
    not exists (select 1 from pg_options_to_table(c.reloptions) o
      where o.option_name = 'autovacuum_enabled' and not o.option_value::bool) as autovacuum
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_all_tables s on s.relid = c.oid
  where quote_ident(n.nspname) = $1 or '"' || replace(n.nspname, '"', '""') || '"' = $1
) t where t.name in ('cells', 'tables', 'state', 'durable', 'writers', 'outbox')`;

const ofStandbys = `
select coalesce(json_agg(r order by r.name), '[]') from (
  select coalesce(application_name, '') as name, coalesce(state, '') as state, coalesce(sync_state, '') as "syncState",
    (extract(epoch from replay_lag) * 1000)::int8 as "lagMs",
    case when pg_is_in_recovery() then null else pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) end as "lagBytes"
  from pg_stat_replication where state is distinct from 'backup'
) r`;

const ofSlots = `
select coalesce(json_agg(s order by s.name), '[]') from (
  select slot_name as name, active,
    coalesce(case when pg_is_in_recovery() then 0 else pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) end, 0) as "keptBytes"
  from pg_replication_slots where not temporary
) s`;

interface ServerFacts
  extends Omit<
    PostgresFacts,
    "clockAheadMs" | "connections" | "holders" | "tables" | "standbys" | "slots" | "missing" | "sessions"
  > {
  readonly nowMs: number;
  readonly used: number;
  readonly usedByRole: number;
  readonly roleLimit: number | null;
}

/**
 * Asks a server about itself and about a schema, a quoted name. Changes nothing. Needs no privilege
 * besides that to connect; what the role may not see is missing.
 */
export async function readFacts(
  connections: Connections,
  schema: string,
  { perProcess, prepares }: LocationSettings,
): Promise<PostgresFacts> {
  const { environment } = connections;
  const ask = async <T>(text: string, values: readonly unknown[] = []) => {
    const rows = await connections.repeat(statement(text), values, "examine the server");
    return withoutNulls(JSON.parse(rows[0]![0]!)) as T;
  };
  // The first query makes the connection, so only the second one tells the time.
  await ask("select '1'");
  const before = environment.now();
  const { nowMs, used, usedByRole, roleLimit, ...server } = await ask<ServerFacts>(ofServer, [settings]);
  const clockAheadMs = nowMs - (before + environment.now()) / 2;
  return {
    ...server,
    clockAheadMs,
    connections: { used, usedByRole, roleLimit: roleLimit ?? undefined, perProcess },
    holders: await ask(ofHolders),
    tables: await ask(ofTables, [schema]),
    standbys: await ask(ofStandbys),
    slots: await ask(ofSlots),
    missing: await missingPrivileges(connections, schema, server.role),
    sessions: await examineSessions(connections).then(
      (sessions) => ({ ...sessions, prepares }),
      () => undefined,
    ),
  };
}

/** JSON's null becomes undefined, by leaving the member out. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => (each === null ? [] : [[name, withoutNulls(each)]])),
  );
}
