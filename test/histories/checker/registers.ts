import { strongComponents } from "../../../src/testing/history/check/graph.js";
import type { Element } from "../operations.js";
import type { Findings } from "./findings.js";
import { realTimeOrder } from "./real-time.js";
import type { JudgedTransaction } from "./transaction.js";
import { checkSource, type KeyVersions, keysOf, type Version } from "./versions.js";

/**
 * A transaction's accesses to one register: the version that it met first, and the one that it
 * left.
 */
interface Visit {
  readonly begin: number;
  readonly end: number;
  readonly transaction: JudgedTransaction;
  readonly first: Version;
  readonly last: Version;
}

/**
 * Determines the order of each register's versions as far as it is known. The empty state comes
 * first. If a transaction reads a register and then writes it, its version comes after the one that
 * it read. The versions of a register also follow real time, unless that would lead to a cycle.
 */
export function orderRegisters(
  transactions: readonly JudgedTransaction[],
  findings: Findings,
): ReadonlyMap<Element, KeyVersions> {
  const keys = keysOf(transactions);
  const visits = new Map<Element, Visit[]>([...keys.keys()].map((key) => [key, []]));
  for (const transaction of transactions) {
    if (transaction.outcome === "fail") continue;
    if (transaction.outcome === "ok") checkInternal(transaction, findings);
    for (const read of transaction.externalReads()) {
      const value = read.value as Version;
      const versions = keys.get(read.key)!;
      versions.read(value, transaction);
      if (value !== null) checkSource(versions, value, true, transaction, findings);
    }
    for (const [key, visit] of visitsOf(transaction)) visits.get(key)!.push(visit);
  }
  for (const versions of keys.values()) orderRegister(versions, visits.get(versions.key)!, findings);
  return keys;
}

function visitsOf(transaction: JudgedTransaction): ReadonlyMap<Element, Visit> {
  const { begin, end, outcome } = transaction;
  const visits = new Map<Element, Visit>();
  for (const micro of transaction.micros) {
    // If the outcome is unknown, the reads are unknown too.
    if (micro.f === "r" && outcome !== "ok") continue;
    const version = micro.value as Version;
    const first = visits.get(micro.key)?.first;
    visits.set(micro.key, {
      begin,
      end,
      transaction,
      first: first === undefined ? version : first,
      last: version,
    });
  }
  return visits;
}

type Pairs = readonly (readonly [Version, Element])[];

function orderRegister(versions: KeyVersions, visits: readonly Visit[], findings: Findings): void {
  const own: (readonly [Version, Element])[] = [];
  for (const { transaction, first, last } of visits) {
    // A write that failed, or was replaced by its own transaction, is not a version. Reads of it
    // are reported elsewhere.
    if (transaction.outcome === "ok" && last !== null && last !== first) own.push([first, last]);
  }
  const inTime: (readonly [Version, Element])[] = [];
  const initial: (readonly [Version, Element])[] = [];
  realTimeOrder(visits, ({ last }, { first, transaction }) => {
    if (last === first) return;
    if (first !== null) inTime.push([last, first]);
    // This transaction met the empty state after another one had left a version. But the empty
    // state comes first.
    else if (last !== null) {
      findings.add(
        "cyclic-versions-realtime",
        [transaction],
        `Key ${versions.key} was read as nothing, after ${last}.`,
      );
    }
  });
  const known = new Set([...own, ...inTime].map(([, after]) => after));
  for (const version of versions.writers.keys()) if (!known.has(version)) initial.push([null, version]);
  if (hasCircle(own)) {
    findings.add("cyclic-versions", [], `Key ${versions.key} has versions that come before each other.`);
    return;
  }
  const isCircular = hasCircle([...own, ...inTime]);
  if (isCircular) {
    const message = `Key ${versions.key} has versions that come before each other, if real time holds.`;
    findings.add("cyclic-versions-realtime", [], message);
    const first = new Set(own.map(([, after]) => after));
    for (const version of versions.writers.keys()) if (!first.has(version)) initial.push([null, version]);
  }
  for (const [before, after] of [...initial, ...own, ...(isCircular ? [] : inTime)])
    versions.follows(before, after);
}

function hasCircle(pairs: Pairs): boolean {
  const places = new Map<Version, number>();
  const edges: { readonly to: number }[][] = [];
  const placeOf = (version: Version) => {
    const known = places.get(version);
    if (known !== undefined) return known;
    places.set(version, edges.length);
    return edges.push([]) - 1;
  };
  for (const [before, after] of pairs) edges[placeOf(before)]!.push({ to: placeOf(after) });
  return strongComponents({ edges }).length > 0;
}

/** A transaction must read its own last write or read. */
function checkInternal(transaction: JudgedTransaction, findings: Findings): void {
  const known = new Map<Element, Version>();
  for (const { f, key, value } of transaction.micros) {
    const before = known.get(key);
    if (f === "r" && before !== undefined && before !== value) {
      findings.add(
        "internal",
        [transaction],
        `The read of key ${key} does not follow from what came before.`,
      );
    }
    known.set(key, value as Version);
  }
}
