import type { DatabaseStatus } from "../../database/index.js";
import { counted, showBytes } from "../print/layout.js";
import { formatDuration } from "../time.js";
import { type Finding, nearLimit, ok, problem, warning } from "./finding.js";

const smallMs = 2_000;
const largeMs = 60_000;

/** What `examineStore` needs to know of an open store. */
export interface StoreFacts {
  readonly status: DatabaseStatus;
  readonly isFolder: boolean;
  readonly nowMs: number;
  /** A timestamp that the oracle assigned just now. */
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
  ];
}

function limitFindings(statistics: Readonly<Record<string, number>>): readonly Finding[] {
  const { bytes, maxMapBytes, readers, maxReaders, timesMended = 0 } = statistics;
  const findings: Finding[] = [];
  if (bytes !== undefined && maxMapBytes !== undefined) {
    findings.push(
      nearLimit(
        "map size",
        bytes,
        maxMapBytes,
        showBytes,
        "The address space for the database is nearly used: drop what is not needed, and `gc`.",
      ),
    );
  }
  if (readers !== undefined && maxReaders !== undefined) {
    const advice = "Each process takes a slot, and each snapshot that it holds: close what is idle.";
    findings.push(nearLimit("readers", readers, maxReaders, String, advice));
  }
  if (timesMended > 0) {
    findings.push(
      warning(
        "mending",
        `the folder was mended ${counted(timesMended, "time")} after a process died`,
        "Run `check`.",
      ),
    );
  }
  return findings;
}

/**
 * Compares timestamps with this machine's clock. Timestamps are microseconds of a clock and never
 * decrease.
 */
function clockFinding({ timestamp, nowMs, isFolder }: StoreFacts): Finding {
  const aheadMs = timestamp / 1_000 - nowMs;
  const advice = "Set the clocks by NTP, this machine's and that of whoever gives out timestamps.";
  if (aheadMs > smallMs) {
    const what = `timestamps are ${formatDuration(aheadMs)} ahead of this machine's clock`;
    return aheadMs > largeMs ? problem("clock", what, advice) : warning("clock", what, advice);
  }
  // A folder's newest timestamp is that of its newest commit, so it may be old.
  if (isFolder || aheadMs > -smallMs) return ok("clock", "timestamps agree with this machine's clock");
  const what = `this machine's clock is ${formatDuration(-aheadMs)} ahead of the coordinator's`;
  return -aheadMs > largeMs ? problem("clock", what, advice) : warning("clock", what, advice);
}

function sessionClocks({ status, nowMs }: StoreFacts): readonly Finding[] {
  return [...status.sessions]
    .filter(([, { expires }]) => expires - nowMs > largeMs)
    .map(([session, { expires }]) =>
      problem(
        "clock",
        `session ${session} says it lives for another ${formatDuration(expires - nowMs)}`,
        "Its machine's clock is ahead, or this one's behind: set both by NTP.",
      ),
    );
}

function coordinatorFinding({ status: { coordinator }, isFolder }: StoreFacts): Finding {
  const start = "Start one: percolator coordinator LOCATION, on two machines.";
  if (coordinator?.leader === undefined) {
    if (isFolder) return ok("coordinator", "none, and a folder needs none");
    return problem("coordinator", "nobody leads", start);
  }
  const { leader, epoch, answers, sessions } = coordinator;
  if (answers === false) {
    const advice = `Is it running, and is its address reachable from here? Does the token fit (--token-file)? Else: ${start}`;
    return isFolder
      ? warning("coordinator", `${leader} does not answer`, advice)
      : problem("coordinator", `${leader} does not answer`, advice);
  }
  const asked = answers === undefined ? "not asked" : counted(sessions?.size ?? 0, "session");
  return ok("coordinator", `${leader}, epoch ${epoch}, ${asked}`);
}

function safepointFinding({ safepointAgeMs, retentionMs }: DatabaseStatus): Finding {
  const retention = `retention ${formatDuration(retentionMs)}`;
  if (safepointAgeMs === undefined) return ok("safepoint", `nothing was collected yet, ${retention}`);
  const what = `${formatDuration(safepointAgeMs)} old, ${retention}`;
  if (safepointAgeMs <= 3 * retentionMs + 10 * largeMs) return ok("safepoint", what);
  return warning(
    "safepoint",
    what,
    "Nobody collects, or an old transaction holds it back: let a program or worker have the database open, or run `percolator gc`.",
  );
}
