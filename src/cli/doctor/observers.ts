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
      const advice = "The module's worker records it when it starts.";
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
  { db, status, app, nowMs, signal }: ObserverFacts,
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
  const waits = pending.count === 0 ? "nothing pending" : `${showCount(pending)} pending`;
  const isForeign = app?.observers.some((each) => each.name === name) === false;
  if (running === 0) {
    const what = `no worker runs it, ${waits}${isForeign ? ", and the module does not declare it" : ""}`;
    const advice = isForeign
      ? `If no other module declares it: percolator unregister LOCATION ${name}. Until then its changes wait.`
      : "Start a worker with the module that declares it: percolator worker LOCATION APP.";
    findings.push(pending.count > 0 ? problem(check, what, advice) : warning(check, what, advice));
  } else if (pending.oldest !== undefined && nowMs - pending.oldest.getTime() > oldMs) {
    const age = formatDuration(nowMs - pending.oldest.getTime());
    const advice =
      "See `percolator pending` for changes that keep failing. If there are none, start more workers.";
    findings.push(warning(check, `${waits}, the oldest for ${age}`, advice));
  } else findings.push(ok(check, `run by ${counted(running, "session")}, ${waits}`));
  if (running > 0 && isForeign) {
    const advice =
      "Other workers run it. If no module should, replace them, and then: " +
      `percolator unregister LOCATION ${name}.`;
    findings.push(warning(check, "it is registered, but the module does not declare it", advice));
  }
  if (older > 0) {
    findings.push(
      warning(
        check,
        `run by ${counted(older, "session")} in a version older than ${version}`,
        "Restart these workers with the new module.",
      ),
    );
  }
  if (parked.count > 0) {
    const advice = `See \`percolator parked LOCATION --observer ${name}\`; fix the cause, then --retry or --discard.`;
    findings.push(problem(check, `${showCount(parked)} parked`, advice));
  }
  for (const { marked } of backfills) {
    const advice = `If no process runs it now, continue it: percolator backfill LOCATION APP ${name}.`;
    findings.push(warning(check, `a backfill is not complete, ${counted(marked, "cell")} marked`, advice));
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
          `Its worker registers it. For existing cells, then run: percolator backfill LOCATION APP ${name}.`,
        ),
      );
    } else if (record.version > version) {
      const what = `registered in version ${record.version}, the module has ${version}`;
      findings.push(
        problem(
          check,
          what,
          "Give the workers the newer module. A worker with this one does not run the observer.",
        ),
      );
    } else if (record.version < version) {
      const what = `registered in version ${record.version}, the module has ${version}`;
      const advice =
        "Its worker registers the new version. When the old workers have ended, run: " +
        `percolator backfill LOCATION APP ${name}.`;
      findings.push(warning(check, what, advice));
    }
  }
  return findings;
}
