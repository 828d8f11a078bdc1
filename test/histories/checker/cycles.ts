import { type CycleRule, shortestCycle } from "../../../src/testing/history/check/cycles.js";
import { strongComponents } from "../../../src/testing/history/check/graph.js";
import type { Dependencies, Dependency, Why } from "./dependencies.js";
import type { Findings } from "./findings.js";
import type { JudgedTransaction } from "./transaction.js";

type Step = Dependency & { readonly from: number };

/**
 * For each component and rule, at most this many transactions are tried as the beginning of a
 * cycle.
 */
const maxOfComponent = 100;

/**
 * The searches for cycles, by their types of dependencies and their rules. The search for the worst
 * cycles comes first. If a later search finds the same cycle again, it is not reported again.
 */
const levels: readonly { readonly types: readonly Why[]; readonly rules: readonly CycleRule[] }[] = [
  { types: ["ww"], rules: ["any"] },
  { types: ["ww", "wr"], rules: ["any"] },
  { types: ["ww", "wr", "rw"], rules: ["one-rw", "no-adjacent-rw"] },
  { types: ["ww", "wr", "rw"], rules: ["any"] },
];

/**
 * Finds cycles of dependencies and names them as Elle does: first of data dependencies only, then
 * with process order, then with real-time order.
 */
export function findCycles(
  nodes: readonly JudgedTransaction[],
  dependencies: Dependencies,
  findings: Findings,
): void {
  const named = new Set<string>();
  for (const order of [undefined, "process", "realtime"] as const) {
    for (const { types, rules } of levels) {
      const allowed = new Set<Why>(order === undefined ? types : [...types, order]);
      const edges = dependencies.edges.map((all) => all.filter(({ type }) => allowed.has(type)));
      for (const component of componentsOf({ edges }, rules)) {
        for (const cycle of cyclesOf({ edges }, component, rules)) {
          const name = JSON.stringify(cycle.map(({ from }) => from).sort((a, b) => a - b));
          if (named.has(name)) continue;
          named.add(name);
          findings.add(
            kindOf(cycle),
            cycle.map(({ from }) => nodes[from]!),
            describe(nodes, cycle),
          );
        }
      }
    }
  }
}

/** Returns sets of nodes that contain a cycle by one of the rules. */
function componentsOf(graph: Dependencies, rules: readonly CycleRule[]): readonly (readonly number[])[] {
  if (rules.includes("any")) return strongComponents(graph);
  // To exclude two successive anti-dependencies, each node appears twice. The second copy is the
  // node as reached by an anti-dependency.
  const edges = [0, 1].flatMap((state) =>
    graph.edges.map((all) =>
      all.flatMap(({ to, type }) => {
        if (type !== "rw") return [{ to: to * 2 }];
        return state === 0 ? [{ to: to * 2 + 1 }] : [];
      }),
    ),
  );
  const count = graph.edges.length;
  const byPlace = Array.from({ length: count * 2 }, (_, at) => edges[(at % 2) * count + (at >> 1)]!);
  return strongComponents({ edges: byPlace }).map((component) => [
    ...new Set(component.map((at) => at >> 1)),
  ]);
}

/**
 * For each rule, goes through the members of a component that are in no earlier cycle of this rule.
 * Yields a shortest cycle from each of them, if there is one.
 */
function* cyclesOf(
  { edges }: Dependencies,
  component: readonly number[],
  rules: readonly CycleRule[],
): Generator<readonly Step[]> {
  const members = [...component].sort((a, b) => a - b);
  const places = new Map(members.map((node, place) => [node, place]));
  const inside = members.map((node) =>
    edges[node]!.flatMap((edge) => {
      const to = places.get(edge.to);
      return to === undefined ? [] : [{ ...edge, to }];
    }),
  );
  for (const rule of rules) {
    const used = new Set<number>();
    let tries = 0;
    for (const start of members.keys()) {
      // A cycle with an anti-dependency is searched from the beginning of that dependency.
      const canBegin = rule === "any" || inside[start]!.some(({ type }) => type === "rw");
      if (!canBegin || used.has(start) || tries++ >= maxOfComponent) continue;
      const cycle = shortestCycle({ edges: inside }, start, rule);
      if (cycle === undefined) continue;
      for (const { from } of cycle) used.add(from);
      yield cycle.map((edge) => ({ ...edge, from: members[edge.from]!, to: members[edge.to]! }));
    }
  }
}

/** Returns Elle's name for the cycle. */
export function kindOf(cycle: readonly { readonly type: Why }[]): string {
  const has = (type: Why) => cycle.some((step) => step.type === type);
  const order = has("realtime") ? "-realtime" : has("process") ? "-process" : "";
  const anti = cycle.filter(({ type }) => type === "rw").length;
  if (anti === 0) return `${has("wr") ? "G1c" : "G0"}${order}`;
  if (anti === 1) return `G-single-item${order}`;
  const adjoin = cycle.some(({ type }, at) => type === "rw" && cycle[(at + 1) % cycle.length]!.type === "rw");
  return `${adjoin ? "G2-item" : "G-nonadjacent-item"}${order}`;
}

const meanings: Readonly<Record<Why, string>> = {
  ww: "wrote what was replaced by",
  wr: "wrote what was read by",
  rw: "read what was replaced by",
  process: "came, in its process, before",
  realtime: "ended before the beginning of",
};

function describe(nodes: readonly JudgedTransaction[], cycle: readonly Step[]): string {
  const steps = cycle.map(({ from, to, type, key }) => {
    const what = key === undefined ? "" : `, key ${key}`;
    return `T${nodes[from]!.begin} ${meanings[type]} T${nodes[to]!.begin} (${type}${what})`;
  });
  return `Each comes before the next, and the last before the first: ${steps.join("; ")}.`;
}
