import { isPostgres } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";
import { within } from "../../oracle/index.js";
import type { PostgresFacts } from "../../store/postgres/index.js";
import { formatDuration } from "../time.js";
import { type Finding, nearLimit, ok, problem, warning } from "./finding.js";
import { bloatFindings, horizonFindings } from "./postgres-bloat.js";
import { standbyFindings } from "./postgres-standbys.js";

const page = "docs/postgres.md";
const minVersion = 140_000;
/** Time for all questions to the server, in milliseconds. One of them waits 500 ms for a notification. */
const askMs = 2_500;
const largeClockMs = 60_000;
const smallClockMs = 2_000;
/** The time that the store gives a request by default. A server that cancels earlier makes commits fail. */
const deadlineMs = 10_000;
/** A commit that waits for others may well take this long. */
const shortMs = 1_000;

/** Asks the server of a location, and judges what it says. Returns one problem if it does not answer. */
export async function examinePostgresServer(
  location: string,
  writes: boolean,
  environment: Environment,
): Promise<{ readonly facts: PostgresFacts | undefined; readonly findings: readonly Finding[] }> {
  if (!isPostgres(location)) return { facts: undefined, findings: [] };
  const { examinePostgres } = await import("../../store/postgres/index.js");
  try {
    const doing = "The examination of the server";
    // A server that cannot be reached is named before this time is over.
    const facts = await within({ environment, timeoutMs: 2 * askMs, doing }, () =>
      examinePostgres(location, { environment, deadlineMs: askMs }),
    );
    return { facts, findings: postgresFindings(facts, writes) };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const advice = `Check that the server runs, that this machine can reach it, and the role (${page}).`;
    return { facts: undefined, findings: [problem("server", said, advice)] };
  }
}

/** The findings on a server. `writes`: whether this process needs to write, as a worker does. */
export function postgresFindings(facts: PostgresFacts, writes: boolean): readonly Finding[] {
  return [
    serverFinding(facts),
    roleFinding(facts),
    searchPathFinding(facts),
    ...privilegeFindings(facts, writes),
    serverClockFinding(facts),
    ...settingFindings(facts),
    timeoutFinding(facts),
    ...poolerFindings(facts),
    connectionFinding(facts),
    ...roleConnectionFindings(facts),
    ...horizonFindings(facts),
    ...bloatFindings(facts),
    ...standbyFindings(facts),
  ];
}

function serverFinding({ version, versionNumber, isStandby, settings }: PostgresFacts): Finding {
  const what = `PostgreSQL ${version}`;
  if (versionNumber < minVersion) {
    return problem("server", `${what}, older than version 14`, "Upgrade the server.");
  }
  if (isStandby)
    return problem("server", `${what}, a standby`, "Connect to the primary: a standby is read-only.");
  if (settings.default_transaction_read_only === "on") {
    const advice = "Switch `default_transaction_read_only` off for this role, or connect to the primary.";
    return problem("server", `${what}, transactions of this role are read-only`, advice);
  }
  return ok("server", what);
}

function roleFinding({ role, isSuperuser }: PostgresFacts): Finding {
  if (!isSuperuser) return ok("role", `${role}, not a superuser`);
  const advice = `Give programs a role with only the privileges that ${page} lists. A superuser may read and change everything on this server.`;
  return warning("role", `${role} is a superuser`, advice);
}

function searchPathFinding({ openSchemas }: PostgresFacts): Finding {
  if (openSchemas.length === 0)
    return ok("search path", "only known roles may create functions in its schemas");
  const names = openSchemas.map((name) => `"${name.replaceAll('"', '""')}"`);
  const advice =
    "PostgreSQL may call such a function in place of one of its own, with the privileges of this role. " +
    names.map((name) => `revoke create on schema ${name} from public;`).join(" ");
  return warning("search path", `every role may create functions in ${names.join(", ")}`, advice);
}

function privilegeFindings({ role, missing, tables }: PostgresFacts, writes: boolean): readonly Finding[] {
  const lacking = missing.map(({ what, grant, isForWriting }) => {
    const said = `${role} lacks ${what}`;
    const advice = `As the owner of the schema: ${grant}`;
    return isForWriting && !writes
      ? warning("privileges", said, `${advice} A role that only reads does not need it (\`readOnly: true\`).`)
      : problem("privileges", said, advice);
  });
  if (lacking.length > 0) return lacking;
  return tables.length === 0 ? [] : [ok("privileges", `${role} has all that ${page} lists`)];
}

function serverClockFinding({ clockAheadMs }: PostgresFacts): Finding {
  const byMs = Math.abs(clockAheadMs);
  if (byMs <= smallClockMs) return ok("server clock", "agrees with this machine's clock");
  const what = `${formatDuration(byMs)} ${clockAheadMs > 0 ? "ahead of" : "behind"} this machine's clock`;
  const advice =
    "Synchronize both by NTP. Timestamps follow the server's clock, but sessions and schedules follow that of each machine.";
  return byMs > largeClockMs ? problem("server clock", what, advice) : warning("server clock", what, advice);
}

function settingFindings({ settings }: PostgresFacts): readonly Finding[] {
  const {
    fsync,
    full_page_writes: fullPages,
    synchronous_commit: commit,
    synchronous_standby_names: standbys,
    default_transaction_isolation: isolation,
  } = settings;
  const findings: Finding[] = [];
  if (fsync === "off") {
    const advice = "Switch `fsync` on. After a crash of the machine the server may lose everything.";
    findings.push(problem("durability", "`fsync` is off", advice));
  }
  if (fullPages === "off") {
    const advice =
      "Switch `full_page_writes` on, unless the file system writes whole pages atomically. Else a crash may damage pages.";
    findings.push(problem("durability", "`full_page_writes` is off", advice));
  }
  if (commit === "off") {
    const advice =
      "This library waits for the disk all the same. Other programs of this role do not, so a crash may lose their last commits. Set it to `on`.";
    findings.push(warning("durability", "`synchronous_commit` is off", advice));
  }
  if (commit === "local" && standbys !== undefined && standbys !== "") {
    const advice = "Set it to `on`, so that a failover loses no acknowledged commit.";
    const what = "`synchronous_commit` is local, so commits do not wait for the synchronous standby";
    findings.push(warning("durability", what, advice));
  }
  if (findings.length === 0)
    findings.push(ok("durability", "commits reach the disk before they are answered"));
  if (isolation !== undefined && isolation !== "read committed") {
    const advice =
      "Set `default_transaction_isolation` of this role to `read committed`. Under any other, the store refuses to write.";
    findings.push(problem("isolation", `\`default_transaction_isolation\` is ${isolation}`, advice));
  }
  return findings;
}

function timeoutFinding({ settings }: PostgresFacts): Finding {
  const { statement_timeout: statement, lock_timeout: lock, transaction_timeout: transaction } = settings;
  const all = { statement_timeout: statement, lock_timeout: lock, transaction_timeout: transaction };
  const low = Object.entries(all).filter(([, ms = "0"]) => Number(ms) > 0 && Number(ms) < deadlineMs);
  if (low.length === 0) return ok("timeouts", "the server cancels no statement within 10 s");
  const what = low.map(([name, ms]) => `\`${name}\` is ${formatDuration(Number(ms))}`).join(", ");
  const advice = `A commit waits for those before it. Raise it for this role to ${formatDuration(deadlineMs)} or more, or to 0.`;
  const isShort = low.some(([, ms]) => Number(ms) < shortMs);
  return isShort ? problem("timeouts", what, advice) : warning("timeouts", what, advice);
}

function poolerFindings({ sessions }: PostgresFacts): readonly Finding[] {
  if (sessions === undefined) {
    const advice = "Check that this role may have at least 3 connections at a time.";
    return [warning("pooler", "two connections at a time could not be compared", advice)];
  }
  const { isShared, keepsStatements, hears, prepares } = sessions;
  const findings: Finding[] = [];
  if (!isShared) findings.push(ok("pooler", "each connection has a session of the server"));
  else if (keepsStatements) findings.push(ok("pooler", "transaction mode, with prepared statements"));
  else if (!prepares) findings.push(ok("pooler", "transaction mode, and the location has prepare=false"));
  else {
    const advice =
      "Set `prepare=false` in the location, or `max_prepared_statements` of a PgBouncer from 1.21, or use session mode.";
    findings.push(problem("pooler", "transaction mode without prepared statements", advice));
  }
  if (hears) findings.push(ok("notifications", "heard"));
  else {
    const advice =
      "Workers read the counter every 5 to 50 ms instead. For fewer queries, connect workers directly, or through a pooler in session mode.";
    findings.push(warning("notifications", "`LISTEN` hears nothing on these connections", advice));
  }
  return findings;
}

function connectionFinding({ connections, settings }: PostgresFacts): Finding {
  const advice = "Raise `max_connections`, lower `connections` in the location, or use a PgBouncer.";
  return nearLimit("connections", connections.used, availableConnections(settings), String, advice);
}

/** The connections that the server has for roles without a reserve. */
function availableConnections(settings: PostgresFacts["settings"]): number {
  const number = (text: string | undefined) => Number(text ?? 0);
  return (
    number(settings.max_connections) -
    number(settings.superuser_reserved_connections) -
    number(settings.reserved_connections)
  );
}

function roleConnectionFindings({ connections, role }: PostgresFacts): readonly Finding[] {
  const { usedByRole, roleLimit } = connections;
  if (roleLimit === undefined) return [];
  const advice = `Raise it: alter role "${role.replaceAll('"', '""')}" connection limit ...; or lower \`connections\` in the location.`;
  return [nearLimit("connections of the role", usedByRole, roleLimit, String, advice)];
}

/** Whether the server has connections for all processes with workers. Other programs need some besides. */
export function budgetFinding({ connections, settings }: PostgresFacts, processes: number): Finding {
  const { perProcess } = connections;
  const needed = processes * perProcess;
  const most = availableConnections(settings);
  const what = `${processes} processes with workers may use ${needed} of ${most} connections, ${perProcess} each`;
  if (needed <= most) return ok("connection budget", what);
  const advice = "Raise `max_connections`, lower `connections` in the location, or use a PgBouncer.";
  return warning("connection budget", what, advice);
}
