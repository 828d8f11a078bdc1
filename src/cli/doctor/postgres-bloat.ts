import type { HorizonHolder, PostgresFacts, TableFacts } from "../../store/postgres/index.js";
import { showBytes } from "../print/layout.js";
import { formatDuration } from "../time.js";
import { type Finding, ok, problem, warning } from "./finding.js";

/** A transaction of this age holds back more than a worker or a backup of a small database needs. */
const oldTransactionMs = 600_000;
const veryOldMs = 6 * oldTransactionMs;
/**
 * Autovacuum comes at 2 % of dead rows. With this share it does not keep up, or cannot remove them, and
 * reads and the disk pay for a quarter more.
 */
const deadShare = 0.25;
/** Fewer dead rows than this take a few MiB at most, unless values are large, and autovacuum's next pass removes them. */
const minDead = 10_000;
/**
 * The outbox is empty most of the time, so all its rows are dead until autovacuum passes, once a
 * minute: 8,000 changes a second make so many. Each look of a worker passes over them, for about 100 ms.
 */
const minDeadChanges = 500_000;

/** Reports transactions that keep the server from removing dead rows. */
export function horizonFindings(
  { holders, seesAll, role }: PostgresFacts,
  oldMs = oldTransactionMs,
): readonly Finding[] {
  const old = holders.filter(({ ageMs = 0 }) => ageMs >= oldMs);
  const limit = seesAll
    ? ""
    : `; of other roles nothing is seen: grant pg_read_all_stats to "${role.replaceAll('"', '""')}"`;
  if (old.length === 0) return [ok("transactions", `none is older than ${formatDuration(oldMs)}${limit}`)];
  return old.map((holder) => {
    const { ageMs = 0 } = holder;
    const what = `${describeHolder(holder)}, open for ${formatDuration(ageMs)}, keeps the server from removing dead rows`;
    const advice =
      holder.kind === "connection"
        ? `End it in its program, or with select pg_terminate_backend(${holder.name}). \`idle_in_transaction_session_timeout\` ends forgotten ones.`
        : "Commit it or roll it back: commit prepared, rollback prepared.";
    return ageMs >= veryOldMs ? problem("transactions", what, advice) : warning("transactions", what, advice);
  });
}

/** Names the connection, but not its statement, which may hold secrets. */
function describeHolder({ kind, name, application, role, state, queryStart }: HorizonHolder): string {
  const of = application === "" ? `of ${role}` : `of ${role} (${application})`;
  if (kind !== "connection") return `${kind} ${JSON.stringify(name)} ${of}`;
  const since = queryStart === undefined ? "" : `, last statement at ${queryStart}`;
  return `pid ${name} ${of}, ${state}${since}`;
}

/** Reports what keeps autovacuum away, and tables with many dead rows. */
export function bloatFindings({ settings, tables }: PostgresFacts): readonly Finding[] {
  if (tables.length === 0) return [];
  const findings: Finding[] = [];
  if (settings.autovacuum === "off" || settings.track_counts === "off") {
    const name = settings.autovacuum === "off" ? "autovacuum" : "track_counts";
    const advice = "Switch it on. Without it, deleted versions take space for ever.";
    findings.push(problem("autovacuum", `\`${name}\` is off on this server`, advice));
  }
  for (const { name, autovacuum } of tables) {
    if (autovacuum) continue;
    const advice = `As the owner: alter table SCHEMA.${name} reset (autovacuum_enabled);`;
    findings.push(problem("autovacuum", `off for the table ${name}`, advice));
  }
  findings.push(...tables.filter(isBloated).map(bloatFinding));
  if (findings.length > 0) return findings;
  const cells = tables.find(({ name }) => name === "cells");
  const bytes = tables.reduce((sum, table) => sum + table.bytes + table.indexBytes, 0);
  return [ok("bloat", `${showBytes(bytes)}, ${cells?.dead ?? 0} dead rows of ${cells?.live ?? 0}`)];
}

/** Whether a table has so many dead rows that autovacuum must have failed to remove them. */
function isBloated({ name, live, dead }: TableFacts): boolean {
  return dead > Math.max(name === "outbox" ? minDeadChanges : minDead, deadShare * live);
}

function bloatFinding({ name, live, dead, vacuumed }: TableFacts): Finding {
  const last =
    vacuumed === undefined ? "autovacuum has never passed" : `autovacuum passed last at ${vacuumed}`;
  return warning(
    "bloat",
    `the table ${name} has ${dead} dead rows beside ${live}, and ${last}`,
    "See `transactions` above. If there is none, autovacuum does not keep up: raise `autovacuum_vacuum_cost_limit`, or run VACUUM on the table.",
  );
}
