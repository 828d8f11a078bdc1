import type { DatabaseStatus } from "../../database/index.js";
import type { PercolatorError } from "../../errors/index.js";
import type { TableExpiry } from "../../evolution/index.js";
import { counted, showBytes } from "../print/layout.js";
import { formatDuration } from "../time.js";
import { type Finding, nearLimit, ok, problem, warning } from "./finding.js";

const smallMs = 2_000;
const largeMs = 60_000;
/** Nobody looks for space in a smaller file. */
const smallBytes = 64 * 2 ** 20;

/** What `examineStore` needs to know of an open store. */
export interface StoreFacts {
  readonly status: DatabaseStatus;
  /** Whether the store assigns timestamps itself, so that it needs no coordinator. */
  readonly assignsTimestamps: boolean;
  /** The error if the coordinator does not answer, so that the store was opened without it. */
  readonly away?: PercolatorError | undefined;
  readonly nowMs: number;
  /** A timestamp that the oracle has just assigned. */
  readonly timestamp: number;
}

/** Examines a store that could be opened. */
export function examineStore(facts: StoreFacts): readonly Finding[] {
  const { store, commit, statistics } = facts.status;
  return [
    ok("store", `${store}, commits in ${commit}`),
    ...limitFindings(statistics),
    clockFinding(facts),
    ...sessionClocks(facts),
    coordinatorFinding(facts),
    safepointFinding(facts.status),
    ...facts.status.expiries.map((expiry) => expiryFinding(expiry, facts.nowMs)),
  ];
}

function limitFindings(statistics: Readonly<Record<string, number>>): readonly Finding[] {
  const {
    bytes,
    maxMapBytes,
    readers,
    maxReaders,
    pagesFree = 0,
    pageBytes = 0,
    timesMended = 0,
  } = statistics;
  const findings: Finding[] = [];
  if (bytes !== undefined && maxMapBytes !== undefined) {
    findings.push(
      nearLimit(
        "map size",
        bytes,
        maxMapBytes,
        showBytes,
        "The database has used most of its address space. Delete data that you do not need, and run `percolator gc`.",
      ),
    );
  }
  if (bytes !== undefined && pagesFree * pageBytes > bytes / 2 && bytes > smallBytes) {
    const what = `${showBytes(pagesFree * pageBytes)} of the ${showBytes(bytes)} of the file are free, and will be used again`;
    findings.push(ok("free pages", `${what}. To make the file smaller, use \`percolator compact\``));
  }
  if (readers !== undefined && maxReaders !== undefined) {
    const advice = "Each process and each open snapshot takes a slot. Close those that are idle.";
    findings.push(nearLimit("readers", readers, maxReaders, String, advice));
  }
  if (timesMended > 0) {
    findings.push(
      warning(
        "mending",
        `the folder was mended ${counted(timesMended, "time")} after a process died`,
        "Run `percolator check`.",
      ),
    );
  }
  return findings;
}

/**
 * Compares timestamps with this machine's clock. Timestamps are microseconds of a clock and never
 * decrease.
 */
function clockFinding({ timestamp, nowMs, assignsTimestamps }: StoreFacts): Finding {
  const aheadMs = timestamp / 1_000 - nowMs;
  const advice =
    "Synchronize the clocks by NTP: this machine's, and that of the process that assigns timestamps.";
  if (aheadMs > smallMs) {
    const what = `timestamps are ${formatDuration(aheadMs)} ahead of this machine's clock`;
    return aheadMs > largeMs ? problem("clock", what, advice) : warning("clock", what, advice);
  }
  // The newest timestamp of such a store is that of its newest commit, so it may be old.
  if (assignsTimestamps || aheadMs > -smallMs)
    return ok("clock", "timestamps agree with this machine's clock");
  const what = `this machine's clock is ${formatDuration(-aheadMs)} ahead of the coordinator's`;
  return -aheadMs > largeMs ? problem("clock", what, advice) : warning("clock", what, advice);
}

function sessionClocks({ status, nowMs }: StoreFacts): readonly Finding[] {
  return [...status.sessions]
    .filter(([, { expires }]) => expires - nowMs > largeMs)
    .map(([session, { expires }]) =>
      problem(
        "clock",
        `session ${session} expires only in ${formatDuration(expires - nowMs)}`,
        "Its machine's clock is ahead, or this machine's is behind. Synchronize both by NTP.",
      ),
    );
}

function coordinatorFinding({ status: { coordinator }, assignsTimestamps, away }: StoreFacts): Finding {
  const start = "Run this on two machines: percolator coordinator LOCATION.";
  const advice = `Check that it runs, that this machine can reach its address, and that the token is right (--token-file). If it is gone: ${start}`;
  if (away !== undefined) return warning("coordinator", `${away.message} (${away.code})`, advice);
  if (coordinator?.leader === undefined) {
    if (assignsTimestamps) return ok("coordinator", "none, and this store needs none");
    return problem("coordinator", "no coordinator leads", start);
  }
  const { leader, epoch, answers, sessions } = coordinator;
  if (answers === false) {
    return assignsTimestamps
      ? warning("coordinator", `${leader} does not answer`, advice)
      : problem("coordinator", `${leader} does not answer`, advice);
  }
  const asked = answers === undefined ? "not asked" : counted(sessions?.size ?? 0, "session");
  return ok("coordinator", `${leader}, epoch ${epoch}, ${asked}`);
}

/** A process looks for due tables once a minute, so a sweep that is late by more than that has no process. */
function expiryFinding({ table, dueAt, sweptAt }: TableExpiry, nowMs: number): Finding {
  const check = `expiry of ${table}`;
  const swept =
    sweptAt === undefined ? "not swept yet" : `last swept ${formatDuration(nowMs - sweptAt.getTime())} ago`;
  const lateMs = nowMs - dueAt.getTime();
  if (lateMs <= 10 * largeMs) return ok(check, swept);
  return warning(
    check,
    `${swept}, due for ${formatDuration(lateMs)}`,
    "No process deletes its expired cells. Keep a program or worker running, and read its backgroundFailure events, or run `percolator gc`.",
  );
}

function safepointFinding({ safepointAgeMs, retentionMs }: DatabaseStatus): Finding {
  const retention = `retention ${formatDuration(retentionMs)}`;
  if (safepointAgeMs === undefined) return ok("safepoint", `no garbage was collected yet, ${retention}`);
  const what = `${formatDuration(safepointAgeMs)} old, ${retention}`;
  if (safepointAgeMs <= 3 * retentionMs + 10 * largeMs) return ok("safepoint", what);
  return warning(
    "safepoint",
    what,
    "No process collects garbage, or an old transaction holds the safepoint back. Keep a program or worker running, or run `percolator gc`.",
  );
}
