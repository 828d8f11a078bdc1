import type { AnomalyKind } from "./anomaly.js";
import type { Edge, PlainGraph } from "./graph.js";

/** An edge of a cycle, with the node at which it begins. */
export type CycleEdge = From<Edge>;

type From<E> = E & { readonly from: number };

/** An edge with only the property that the search needs: its type. */
interface TypedEdge {
  readonly to: number;
  readonly type: string;
}

/** Which edges a cycle may have, and in which order. */
export type CycleRule =
  /** Any edges. */
  | "any"
  /** At most one anti-dependency. */
  | "one-rw"
  /** Any number of anti-dependencies, but no two adjacent ones. */
  | "no-adjacent-rw";

interface Step<E> {
  readonly node: number;
  /**
   * The state of the rule: the count of anti-dependencies so far, or whether the last edge was one.
   */
  readonly state: number;
  readonly before: Step<E> | undefined;
  readonly edge: From<E> | undefined;
}

/** Finds a shortest cycle that goes through the node `start` and obeys a rule. */
export function shortestCycle<E extends TypedEdge>(
  { edges }: PlainGraph<E>,
  start: number,
  rule: CycleRule,
): readonly From<E>[] | undefined {
  const firsts = rule === "no-adjacent-rw" ? ([true, false] as const) : ([undefined] as const);
  let shortest: readonly From<E>[] | undefined;
  for (const firstIsRw of firsts) {
    const found = search(edges, start, rule, firstIsRw);
    if (found !== undefined && (shortest === undefined || found.length < shortest.length)) shortest = found;
  }
  return shortest;
}

/** Searches breadth-first over pairs of a node and a state of the rule. */
function search<E extends TypedEdge>(
  edges: PlainGraph<E>["edges"],
  start: number,
  rule: CycleRule,
  firstIsRw: boolean | undefined,
): readonly From<E>[] | undefined {
  const seen = new Set<number>();
  let frontier: Step<E>[] = [{ node: start, state: 0, before: undefined, edge: undefined }];
  while (frontier.length > 0) {
    const following: Step<E>[] = [];
    for (const step of frontier) {
      for (const edge of edges[step.node]!) {
        const isFirst = step.edge === undefined;
        const isRw = edge.type === "rw";
        if (isFirst && firstIsRw !== undefined && isRw !== firstIsRw) continue;
        if (isRw && step.state === 1 && rule !== "any") continue;
        const next: Step<E> = {
          node: edge.to,
          state: nextState(rule, step.state, isRw),
          before: step,
          edge: { ...edge, from: step.node },
        };
        if (edge.to === start) {
          if (!(isRw && firstIsRw)) return path(next);
          continue;
        }
        const key = next.node * 2 + next.state;
        if (seen.has(key)) continue;
        seen.add(key);
        following.push(next);
      }
    }
    frontier = following;
  }
  return undefined;
}

function nextState(rule: CycleRule, state: number, isRw: boolean): number {
  if (rule === "any") return 0;
  if (rule === "one-rw") return isRw ? 1 : state;
  return isRw ? 1 : 0;
}

function path<E>(last: Step<E>): readonly From<E>[] {
  const cycle: From<E>[] = [];
  for (let step: Step<E> | undefined = last; step?.edge !== undefined; step = step.before)
    cycle.push(step.edge);
  return cycle.reverse();
}

/** Returns the name of a cycle's anomaly. */
export function cycleKind(cycle: readonly CycleEdge[]): AnomalyKind {
  const anti = cycle.filter(({ type }) => type === "rw");
  if (anti.length === 0) return cycle.every(({ type }) => type === "ww") ? "G0" : "G1c";
  if (anti.length === 1) return "G-single";
  const adjoin = cycle.some(({ type }, at) => type === "rw" && cycle[(at + 1) % cycle.length]!.type === "rw");
  if (!adjoin) return "long-fork";
  return anti.some(({ inRange }) => inRange) ? "G2" : "G2-item";
}
