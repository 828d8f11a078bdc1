import type { Element } from "../operations.js";
import type { Findings } from "./findings.js";
import type { JudgedTransaction } from "./transaction.js";

/** A version of a key: the element that created it, or null for the initial state. */
export type Version = Element | null;

/**
 * The known facts about one key: who wrote and who read its versions, and which version directly
 * precedes which.
 */
export class KeyVersions {
  readonly key: Element;
  /** The writers of each version, except those that failed. */
  readonly writers = new Map<Element, JudgedTransaction>();
  readonly failed = new Map<Element, JudgedTransaction>();
  /** Committed transactions that read a version of another transaction. */
  readonly readers = new Map<Version, JudgedTransaction[]>();
  readonly #next = new Map<Version, Set<Element>>();

  constructor(key: Element) {
    this.key = key;
  }

  read(version: Version, reader: JudgedTransaction): void {
    const readers = this.readers.get(version);
    if (readers === undefined) this.readers.set(version, [reader]);
    else readers.push(reader);
  }

  follows(before: Version, after: Element): void {
    const next = this.#next.get(before);
    if (next === undefined) this.#next.set(before, new Set([after]));
    else next.add(after);
  }

  /** Pairs of versions, the first of which precedes the second. */
  *order(): Generator<readonly [Version, Element]> {
    for (const [before, all] of this.#next) for (const after of all) yield [before, after];
  }
}

/** Returns all keys of a history, with their writers. */
export function keysOf(transactions: readonly JudgedTransaction[]): Map<Element, KeyVersions> {
  const keys = new Map<Element, KeyVersions>();
  for (const transaction of transactions) {
    for (const micro of transaction.micros) {
      const versions = keys.get(micro.key) ?? new KeyVersions(micro.key);
      keys.set(micro.key, versions);
      if (micro.f === "r") continue;
      const writers = transaction.outcome === "fail" ? versions.failed : versions.writers;
      writers.set(micro.value, transaction);
    }
  }
  return keys;
}

/**
 * Reports a read of a failed write, of an unwritten element, or of a write that its own transaction
 * replaced (G1a, garbage, G1b).
 */
export function checkSource(
  versions: KeyVersions,
  version: Element,
  isNewest: boolean,
  reader: JudgedTransaction,
  findings: Findings,
): void {
  const { key } = versions;
  const what = `Key ${key} was read with ${version}`;
  const writer = versions.writers.get(version);
  const failed = versions.failed.get(version);
  if (failed !== undefined) findings.add("G1a", [reader, failed], `${what}, whose writer failed.`);
  else if (writer === undefined) findings.add("garbage", [reader], `${what}, which nobody wrote.`);
  else if (isNewest && writer !== reader && writer.writesOf(key).at(-1) !== version) {
    findings.add("G1b", [reader, writer], `${what}, which its writer replaced before it committed.`);
  }
}

/**
 * Reports pairs of committed transactions that read the same version of a key and both wrote the
 * key.
 */
export function checkLostUpdates(keys: ReadonlyMap<Element, KeyVersions>, findings: Findings): void {
  for (const { key, readers } of keys.values()) {
    for (const [version, all] of readers) {
      const writing = all.filter((reader) => reader.writesOf(key).length > 0);
      if (writing.length < 2) continue;
      findings.add(
        "lost-update",
        writing,
        `All of these read ${version ?? "nothing"} of key ${key}, and wrote it.`,
      );
    }
  }
}
