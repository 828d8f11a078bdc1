import type { Anomalies } from "./anomaly.js";
import type { Cell, CheckedTransaction } from "./checked-history.js";
import { type CycleEdge, type CycleRule, cycleKind, shortestCycle } from "./cycles.js";
import { buildGraph, type DependencyGraph, type Edge, filterGraph, strongComponents } from "./graph.js";

/** Most transactions of a component, and most suspects, at which the search for cycles begins. */
const maxStarts = 50;

/**
 * Checks that serializable transactions have an order that explains all their reads. There must be
 * no cycle of dependencies in which all anti-dependencies belong to serializable transactions.
 */
export function checkSerializable(
  transactions: readonly CheckedTransaction[],
  cells: readonly Cell[],
  anomalies: Anomalies,
): void {
  const isChecked = ({ committed, recorded }: CheckedTransaction) =>
    committed && recorded.isolation === "serializable";
  if (!transactions.some(isChecked)) return;
  const graph = buildGraph(transactions, cells, "serializable");
  const reported = new Set<number>();
  const byName = filterGraph(graph, (edge) => edge.type !== "rw" || !edge.inRange);
  for (const part of [byName, graph]) {
    for (const component of strongComponents(part)) {
      if (component.some((node) => reported.has(node))) continue;
      for (const node of component) reported.add(node);
      report(graph, findShortest(part, component, "any"), anomalies);
    }
  }
}

/**
 * Reports the cycles that snapshot isolation forbids. *Suspects* are the transactions with a wrong
 * read, and overlapping writers. For cycles without anti-dependencies, the function searches the
 * whole graph. For forbidden cycles with anti-dependencies, it searches only from the suspects. A
 * history has such cycles only if it also has suspects.
 */
export function checkSnapshotCycles(
  transactions: readonly CheckedTransaction[],
  cells: readonly Cell[],
  suspects: ReadonlySet<CheckedTransaction>,
  anomalies: Anomalies,
): void {
  const graph = buildGraph(transactions, cells, "all");
  const levels: readonly ((edge: Edge) => boolean)[] = [
    ({ type }) => type === "ww",
    ({ type }) => type !== "rw",
  ];
  const reported = new Set<number>();
  for (const keep of levels) {
    const part = filterGraph(graph, keep);
    for (const component of strongComponents(part)) {
      if (component.some((node) => reported.has(node))) continue;
      for (const node of component) reported.add(node);
      report(graph, findShortest(part, component, "any"), anomalies);
    }
  }
  for (const rule of ["one-rw", "no-adjacent-rw"] as const) {
    for (const node of suspectsIn(graph, suspects)) {
      if (reported.has(node)) continue;
      const cycle = shortestCycle(graph, node, rule);
      if (cycle === undefined) continue;
      for (const edge of cycle) reported.add(edge.from);
      report(graph, cycle, anomalies);
    }
  }
}

/** Returns the indexes of the first suspects among a graph's nodes. */
function suspectsIn(
  { nodes }: DependencyGraph,
  suspects: ReadonlySet<CheckedTransaction>,
): readonly number[] {
  const places: number[] = [];
  for (const [place, node] of nodes.entries()) {
    if (suspects.has(node)) places.push(place);
    if (places.length === maxStarts) break;
  }
  return places;
}

function findShortest(
  graph: DependencyGraph,
  component: readonly number[],
  rule: CycleRule,
): readonly CycleEdge[] | undefined {
  let shortest: readonly CycleEdge[] | undefined;
  for (const node of component.slice(0, maxStarts)) {
    const cycle = shortestCycle(graph, node, rule);
    if (cycle !== undefined && (shortest === undefined || cycle.length < shortest.length)) shortest = cycle;
    if (shortest?.length === 2) break;
  }
  return shortest;
}

const meanings = {
  ww: "whose write was overwritten by",
  wr: "whose write was read by",
  rw: "which read a version that was overwritten by",
} as const;

function report(
  { nodes }: DependencyGraph,
  cycle: readonly CycleEdge[] | undefined,
  anomalies: Anomalies,
): void {
  if (cycle === undefined) return;
  const members = cycle.map(({ from }) => nodes[from]!);
  anomalies.add(cycleKind(cycle), members, () => {
    const steps = cycle.map(({ from, to, type, cell, inRange }) => {
      const how = inRange ? ", in a range" : "";
      return `${nodes[from]}, ${meanings[type]} T${nodes[to]!.id} (${type} on ${cell}${how})`;
    });
    return `each comes before the next, but the last comes before the first: ${steps.join("; ")}.`;
  });
}
