import { ednMicro } from "../edn.js";
import type { Element, Micro, Operation } from "../operations.js";

/**
 * A read that depends on other transactions' writes: the first access of its transaction to the
 * key.
 */
export interface ExternalRead {
  readonly key: Element;
  readonly value: Element | readonly Element[] | null;
}

/** A transaction of a history, from its beginning to its end. */
export class JudgedTransaction {
  /** The index of its invocation. It gives the place in real time, and the name. */
  readonly begin: number;
  /**
   * The index of its completion. Infinity if it has none, or an unknown outcome, because it may
   * still commit at any time.
   */
  readonly end: number;
  readonly outcome: "ok" | "fail" | "info";
  readonly process: number;
  readonly micros: readonly Micro[];

  constructor(invocation: Operation, completion: Operation | undefined) {
    this.begin = invocation.index;
    this.outcome = completion === undefined ? "info" : (completion.type as "ok" | "fail" | "info");
    this.end = this.outcome === "info" ? Number.POSITIVE_INFINITY : completion!.index;
    this.process = invocation.process;
    // A transaction's reads count only if it committed.
    this.micros = this.outcome === "ok" ? completion!.value : invocation.value;
  }

  /** Its reads of other transactions' writes. None unless it committed. */
  *externalReads(): Generator<ExternalRead> {
    if (this.outcome !== "ok") return;
    const touched = new Set<Element>();
    for (const { f, key, value } of this.micros) {
      if (f === "r" && !touched.has(key)) yield { key, value };
      touched.add(key);
    }
  }

  /** Its writes of a key, in order. */
  writesOf(key: Element): readonly Element[] {
    return this.micros.flatMap((micro) => (micro.f !== "r" && micro.key === key ? [micro.value] : []));
  }

  toString(): string {
    return `T${this.begin} (process ${this.process}, ${this.outcome}: ${this.micros.map(ednMicro).join(" ")})`;
  }
}

/** The transactions of a well-formed history, in the order of their beginnings. */
export function transactionsOf(operations: readonly Operation[]): readonly JudgedTransaction[] {
  const open = new Map<number, Operation>();
  const ends = new Map<Operation, Operation>();
  for (const operation of operations) {
    if (operation.type === "invoke") open.set(operation.process, operation);
    else ends.set(open.get(operation.process)!, operation);
  }
  return operations
    .filter(({ type }) => type === "invoke")
    .map((invocation) => new JudgedTransaction(invocation, ends.get(invocation)));
}
