import type { Database, DatabaseStatus } from "../../database/index.js";
import type { ObserverRecord } from "../../observer/index.js";
import { compareTables, definition, describeTable } from "../../schema/index.js";
import { countParked, countPending, showCount } from "../database/backlog.js";
import type { App } from "../input/module.js";
import { counted } from "../print/layout.js";
import { formatDuration } from "../time.js";
import { type Finding, ok, problem, warning } from "./finding.js";

const oldMs = 600_000;

/** What `examineCatalog` needs besides the catalog itself. */
interface ObserverFacts {
  readonly db: Database;
  readonly status: DatabaseStatus;
  readonly app: App | undefined;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** Examines the recorded tables and observers, and whether the module agrees with them. */
export async function examineCatalog(facts: ObserverFacts): Promise<readonly Finding[]> {
  const records = await facts.db.observers();
  const findings: Finding[] = [...(await tableFindings(facts))];
  if (records.size === 0) findings.push(ok("observers", "none is registered"));
  for (const record of records.values()) findings.push(...(await observerFindings(facts, record)));
  return [...findings, ...appFindings(facts.app, records)];
}

async function tableFindings({ db, app }: ObserverFacts): Promise<readonly Finding[]> {
  const tables = await db.tables();
  const findings = [ok("catalog", `${counted(tables.size, "table")} recorded`)];
  for (const table of app?.tables ?? []) {
    const declared = describeTable(table[definition]);
    const recorded = tables.get(declared.name);
    if (recorded === undefined) {
      const advice = "It is recorded when the module's worker starts.";
      findings.push(warning("catalog", `table ${declared.name} of the module is not recorded`, advice));
      continue;
    }
    const { clashes } = compareTables(describeTable(recorded[definition]), declared);
    for (const clash of clashes) {
      findings.push(problem("catalog", clash, "Declare it as it is recorded, or use another name."));
    }
  }
  return findings;
}

async function observerFindings(
  { db, status, nowMs, signal }: ObserverFacts,
  { name, version, backfills }: ObserverRecord,
): Promise<readonly Finding[]> {
  const check = `observer ${name}`;
  const pending = await countPending(db, name, signal);
  const parked = await countParked(db, name, signal);
  const running = [...status.sessions.values()].filter(({ observers }) => observers[name] === version).length;
  const older = [...status.sessions.values()].filter(
    ({ observers }) => (observers[name] ?? version) < version,
  ).length;
  const findings: Finding[] = [];
  const waits = pending.count === 0 ? "nothing waits" : `${showCount(pending)} waiting`;
  const start = "Start a worker with the module that has it: percolator worker LOCATION APP.";
  if (running === 0 && pending.count > 0) findings.push(problem(check, `nobody runs it, ${waits}`, start));
  else if (running === 0) findings.push(warning(check, `nobody runs it, ${waits}`, start));
  else if (pending.oldest !== undefined && nowMs - pending.oldest.getTime() > oldMs) {
    const age = formatDuration(nowMs - pending.oldest.getTime());
    const advice = "See `percolator pending` for what fails again and again; else more workers are needed.";
    findings.push(warning(check, `${waits}, the oldest for ${age}`, advice));
  } else findings.push(ok(check, `run by ${counted(running, "session")}, ${waits}`));
  if (older > 0) {
    findings.push(
      warning(
        check,
        `${counted(older, "session")} run an older version than ${version}`,
        "Restart these workers with the new module.",
      ),
    );
  }
  if (parked.count > 0) {
    const advice = `See \`percolator parked LOCATION --observer ${name}\`; mend the cause, then --retry or --discard.`;
    findings.push(problem(check, `${showCount(parked)} parked`, advice));
  }
  for (const { marked } of backfills) {
    const advice = `Unless one is under way: percolator backfill LOCATION APP ${name} goes on with it.`;
    findings.push(warning(check, `a backfill has not ended, ${marked} marked`, advice));
  }
  return findings;
}

function appFindings(app: App | undefined, records: ReadonlyMap<string, ObserverRecord>): readonly Finding[] {
  if (app === undefined) return [];
  const findings: Finding[] = [];
  for (const { name, version } of app.observers) {
    const record = records.get(name);
    const check = `observer ${name}`;
    if (record === undefined) {
      findings.push(
        warning(
          check,
          "it is not registered",
          "Its worker registers it; then `backfill` for what stands already.",
        ),
      );
    } else if (record.version > version) {
      const what = `registered in version ${record.version}, the module has ${version}`;
      findings.push(problem(check, what, "Give the newer module to the workers: this one would not run it."));
    } else if (record.version < version) {
      const what = `registered in version ${record.version}, the module has ${version}`;
      findings.push(warning(check, what, "Its worker registers the new version; then `backfill`."));
    }
  }
  const own = new Set(app.observers.map(({ name }) => name));
  for (const name of records.keys()) {
    if (own.has(name)) continue;
    const advice =
      "If no other module has it, forget it: db.unregister(name). Its hints are kept until then.";
    findings.push(warning(`observer ${name}`, "it is registered, and the module does not have it", advice));
  }
  return findings;
}
