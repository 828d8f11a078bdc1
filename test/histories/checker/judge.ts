import { checkWellFormed, type Operation, workloadOf } from "../operations.js";
import { findCycles } from "./cycles.js";
import { dependenciesOf } from "./dependencies.js";
import { Findings } from "./findings.js";
import { orderLists } from "./lists.js";
import { type Model, models } from "./models.js";
import { orderRegisters } from "./registers.js";
import { transactionsOf } from "./transaction.js";
import { checkLostUpdates } from "./versions.js";

/** One kind of anomaly that a history has. */
export interface Anomaly {
  /** By Elle's name, if it has one: `G-single-item-realtime`, `lost-update`. */
  readonly kind: string;
  readonly count: number;
  /** The first few, with their transactions. */
  readonly examples: readonly string[];
}

/** The result of judging a history. */
export interface Judgement {
  /** Anomalies that the model excludes. */
  readonly anomalies: readonly Anomaly[];
  /** Anomalies that the model allows, such as write skew under snapshot isolation. */
  readonly allowed: readonly Anomaly[];
  /** Of the known models, those that the history does not refute. */
  readonly holds: readonly Model[];
  readonly committed: number;
  readonly failed: number;
  /** Transactions of unknown outcome. */
  readonly unknown: number;
}

/**
 * Judges a history of list-append or rw-register operations. It uses only what the clients were
 * told, in real-time order, and no timestamps. It is independent of `checkHistory` and of the
 * database.
 *
 * @throws Error if a history breaks the rules of Elle's input.
 */
export function judge(operations: readonly Operation[], model: Model): Judgement {
  const problems = checkWellFormed(operations);
  if (problems.length > 0) throw new Error(`This is no history: ${problems.slice(0, 5).join(" ")}`);
  const transactions = transactionsOf(operations);
  const findings = new Findings();
  const isLists = workloadOf(operations) === "list-append";
  const keys = isLists ? orderLists(transactions, findings) : orderRegisters(transactions, findings);
  checkLostUpdates(keys, findings);
  const nodes = transactions.filter(({ outcome }) => outcome !== "fail");
  findCycles(nodes, dependenciesOf(nodes, keys), findings);
  const found = [...findings].map(([kind, { count, examples }]): Anomaly => ({ kind, count, examples }));
  found.sort((a, b) => (a.kind < b.kind ? -1 : 1));
  const count = (outcome: string) => transactions.filter((each) => each.outcome === outcome).length;
  return {
    anomalies: found.filter(({ kind }) => models[model].has(kind)),
    allowed: found.filter(({ kind }) => !models[model].has(kind)),
    holds: (Object.keys(models) as Model[]).filter(
      (each) => !found.some(({ kind }) => models[each].has(kind)),
    ),
    committed: count("ok"),
    failed: count("fail"),
    unknown: count("info"),
  };
}
