import type { Element } from "../operations.js";
import type { Findings } from "./findings.js";
import type { ExternalRead, JudgedTransaction } from "./transaction.js";
import { checkSource, type KeyVersions, keysOf } from "./versions.js";

const listOf = ({ value }: Pick<ExternalRead, "value">): readonly Element[] =>
  Array.isArray(value) ? (value as readonly Element[]) : [];

/**
 * Determines the order of each list's versions: that of the longest list that was read. Every other
 * list that was read must be a prefix of it. Reports reads that no order can explain.
 */
export function orderLists(
  transactions: readonly JudgedTransaction[],
  findings: Findings,
): ReadonlyMap<Element, KeyVersions> {
  const keys = keysOf(transactions);
  const reads = new Map<
    Element,
    { readonly list: readonly Element[]; readonly reader: JudgedTransaction }[]
  >();
  for (const transaction of transactions) {
    if (transaction.outcome !== "ok") continue;
    checkInternal(transaction, findings);
    for (const micro of transaction.micros) {
      if (micro.f !== "r") continue;
      const own = reads.get(micro.key) ?? [];
      own.push({ list: listOf(micro), reader: transaction });
      reads.set(micro.key, own);
    }
    for (const read of transaction.externalReads()) {
      const own = transaction.writesOf(read.key);
      if (own.some((element) => listOf(read).includes(element))) {
        findings.add(
          "future-read",
          [transaction],
          `Key ${read.key} was read with what the reader appended later.`,
        );
      }
      keys.get(read.key)!.read(listOf(read).at(-1) ?? null, transaction);
    }
  }
  for (const [key, all] of reads) orderList(keys.get(key)!, all, findings);
  for (const versions of keys.values()) orderUnread(versions, reads.get(versions.key) ?? []);
  return keys;
}

type Reads = readonly { readonly list: readonly Element[]; readonly reader: JudgedTransaction }[];

function orderList(versions: KeyVersions, reads: Reads, findings: Findings): void {
  const { key } = versions;
  const longest = longestOf(reads)!;
  for (const { list, reader } of reads) {
    for (const [at, element] of list.entries()) {
      checkSource(versions, element, at === list.length - 1, reader, findings);
    }
    if (new Set(list).size < list.length) {
      findings.add("duplicate-elements", [reader], `Key ${key} was read with an element twice.`);
    }
    if (list.some((element, at) => element !== longest.list[at])) {
      findings.add(
        "incompatible-order",
        [reader, longest.reader],
        `No order of key ${key} explains both reads.`,
      );
    }
  }
  let aborted: Element | undefined;
  for (const [at, element] of longest.list.entries()) {
    versions.follows(longest.list[at - 1] ?? null, element);
    if (versions.failed.has(element)) aborted = element;
    else if (aborted !== undefined) {
      const [failed, writer] = [versions.failed.get(aborted)!, versions.writers.get(element)];
      const message = `Key ${key}: ${element} was appended to ${aborted}, whose writer failed.`;
      findings.add("dirty-update", writer === undefined ? [failed] : [failed, writer], message);
      aborted = undefined;
    }
  }
}

/**
 * Lists only grow. So an element that no read shows comes after all elements of the longest list
 * that was read.
 */
function orderUnread(versions: KeyVersions, reads: Reads): void {
  const seen = new Set(reads.flatMap(({ list }) => list));
  const last = longestOf(reads)?.list.at(-1) ?? null;
  for (const element of versions.writers.keys()) if (!seen.has(element)) versions.follows(last, element);
}

function longestOf(reads: Reads): Reads[number] | undefined {
  return reads.reduce<Reads[number] | undefined>(
    (a, b) => (a === undefined || b.list.length > a.list.length ? b : a),
    undefined,
  );
}

/** A transaction's reads of a list must agree with its own earlier reads and appends. */
function checkInternal(transaction: JudgedTransaction, findings: Findings): void {
  /** By key: what the list must be or, if it was not read yet, what it must end with. */
  const known = new Map<Element, { readonly list: Element[]; readonly isWhole: boolean }>();
  for (const micro of transaction.micros) {
    const { key } = micro;
    const before = known.get(key);
    if (micro.f !== "r") {
      if (before === undefined) known.set(key, { list: [micro.value], isWhole: false });
      else before.list.push(micro.value);
      continue;
    }
    const list = listOf(micro);
    if (before !== undefined) {
      const shown = before.isWhole ? list : list.slice(-before.list.length);
      if (JSON.stringify(shown) !== JSON.stringify(before.list)) {
        findings.add(
          "internal",
          [transaction],
          `The read of key ${key} does not follow from what came before.`,
        );
      }
    }
    known.set(key, { list: [...list], isWhole: true });
  }
}
