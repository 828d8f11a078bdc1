import type { Cell, CheckedTransaction } from "./checked-history.js";

/**
 * Why transaction A precedes transaction B (Adya). A wrote the version before B's (ww), A wrote the
 * version that B read (wr), or A read the version that B overwrote (rw).
 */
export type EdgeType = "ww" | "wr" | "rw";

export interface Edge {
  readonly to: number;
  readonly type: EdgeType;
  readonly cell: Cell;
  /** Whether the read was by a range and not by name. */
  readonly inRange: boolean;
}

/** The direct dependencies of committed transactions. `edges[i]` are the edges of `nodes[i]`. */
export interface DependencyGraph {
  readonly nodes: readonly CheckedTransaction[];
  readonly edges: readonly (readonly Edge[])[];
}

/** Which anti-dependencies count: those of all transactions, or only those of serializable ones. */
export type AntiDependencies = "all" | "serializable";

/**
 * Builds the dependency graph of all committed transactions from what they really saw. The versions
 * of a cell are in the order of their commit timestamps.
 */
export function buildGraph(
  transactions: readonly CheckedTransaction[],
  cells: readonly Cell[],
  antiDependencies: AntiDependencies,
): DependencyGraph {
  const nodes = transactions.filter(({ committed }) => committed);
  const places = new Map(nodes.map((node, place) => [node, place]));
  const edges: Edge[][] = nodes.map(() => []);
  const add = (
    from: CheckedTransaction | undefined,
    to: CheckedTransaction | undefined,
    type: EdgeType,
    cell: Cell,
    inRange: boolean,
  ) => {
    if (from === undefined || to === undefined || from === to) return;
    const [source, target] = [places.get(from), places.get(to)];
    if (source === undefined || target === undefined) return;
    edges[source]!.push({ to: target, type, cell, inRange });
  };
  for (const cell of cells) {
    const { versions } = cell;
    for (let at = 1; at < versions.length; at++) {
      add(versions[at - 1]!.writer, versions[at]!.writer, "ww", cell, false);
    }
  }
  for (const reader of nodes) {
    const hasAnti = antiDependencies === "all" || reader.recorded.isolation === "serializable";
    reader.observe((observation) => {
      if (reader.hadWritten(observation)) return;
      const { cell, value, inRange } = observation;
      const at = cell.indexShown(reader.start, value);
      if (at === undefined) return;
      add(cell.versions[at]?.writer, reader, "wr", cell, inRange);
      if (!hasAnti) return;
      const next = cell.versions[at + 1]?.writer;
      // If the reader wrote the next version itself, the "ww" edges already order all later
      // writers.
      if (next !== reader) add(reader, next, "rw", cell, inRange);
    });
  }
  return { nodes, edges };
}

/** Keeps the edges of a graph that satisfy a condition. */
export function filterGraph(graph: DependencyGraph, keep: (edge: Edge) => boolean): DependencyGraph {
  return { nodes: graph.nodes, edges: graph.edges.map((edges) => edges.filter(keep)) };
}

/** Nodes by their index, with the nodes that their edges lead to. */
export interface PlainGraph<E extends { readonly to: number }> {
  readonly edges: readonly (readonly E[])[];
}

/**
 * Returns the strongly connected components with more than one node (Tarjan's algorithm, without
 * recursion).
 */
export function strongComponents({
  edges,
}: PlainGraph<{ readonly to: number }>): readonly (readonly number[])[] {
  const count = edges.length;
  const order = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const onStack = new Uint8Array(count);
  const nextEdge = new Int32Array(count);
  const stack: number[] = [];
  const components: number[][] = [];
  let visited = 0;
  const enter = (node: number, path: number[]) => {
    order[node] = low[node] = visited++;
    onStack[node] = 1;
    stack.push(node);
    path.push(node);
  };
  const leave = (node: number) => {
    if (low[node] !== order[node]) return;
    const component: number[] = [];
    for (let each = -1; each !== node; ) {
      each = stack.pop()!;
      onStack[each] = 0;
      component.push(each);
    }
    if (component.length > 1) components.push(component);
  };
  for (let root = 0; root < count; root++) {
    if (order[root] !== -1) continue;
    const path: number[] = [];
    enter(root, path);
    while (path.length > 0) {
      const node = path.at(-1)!;
      const edge = edges[node]![nextEdge[node]!++];
      if (edge === undefined) {
        path.pop();
        const parent = path.at(-1);
        if (parent !== undefined) low[parent] = Math.min(low[parent]!, low[node]!);
        leave(node);
      } else if (order[edge.to] === -1) enter(edge.to, path);
      else if (onStack[edge.to]) low[node] = Math.min(low[node]!, order[edge.to]!);
    }
  }
  return components;
}
