import type { ObserverOverview, Pipeline } from "../../../../src/dashboard/api/index.js";

/** A node of the graph: a column, or an observer between columns. */
export type GraphNode =
  | {
      readonly id: string;
      readonly kind: "column";
      readonly table: string;
      readonly column: string;
      readonly of: ColumnKind;
    }
  | { readonly id: string; readonly kind: "observer"; readonly observer: ObserverOverview };

export type ColumnKind = "column" | "family" | "signal";

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Whether the observer watches the column, or was seen to read or write it. */
  readonly kind: "watches" | "reads" | "writes";
  readonly observer: string;
  /**
   * For a watched column, the runs of the observer. Otherwise the cells that it reads or writes.
   */
  readonly perSecond: number;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Columns that no observer watches or was seen to touch. */
  readonly apart: readonly { readonly table: string; readonly column: string }[];
}

export const columnId = (table: string, column: string) => `column:${table}.${column}`;
export const observerId = (name: string) => `observer:${name}`;

/**
 * The graph of a pipeline. With `withReads` it also has edges for the columns that observers read.
 */
export function graphOf({ tables, observers, flows }: Pipeline, withReads: boolean): Graph {
  const edges = edgesOf(observers, flows, withReads);
  const touched = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const nodes: GraphNode[] = [];
  const apart: { table: string; column: string }[] = [];
  for (const { name: table, columns } of tables)
    for (const { name: column, kind: of } of columns) {
      const id = columnId(table, column);
      if (touched.delete(id)) nodes.push({ id, kind: "column", table, column, of });
      else apart.push({ table, column });
    }
  for (const observer of observers) {
    const id = observerId(observer.name);
    touched.delete(id);
    nodes.push({ id, kind: "observer", observer });
  }
  // Columns that are watched or were touched, but are not recorded yet.
  for (const id of touched) {
    if (!id.startsWith("column:")) continue;
    const [table = "", column = ""] = id.slice("column:".length).split(/\.(.*)/s);
    nodes.push({ id, kind: "column", table, column, of: "column" });
  }
  const ids = new Set(nodes.map(({ id }) => id));
  return { nodes, edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)), apart };
}

function edgesOf(
  observers: readonly ObserverOverview[],
  flows: Pipeline["flows"],
  withReads: boolean,
): readonly GraphEdge[] {
  const edges = new Map<string, GraphEdge>();
  const add = (edge: GraphEdge) => {
    const key = `${edge.from} ${edge.to}`;
    if (!edges.has(key)) edges.set(key, edge);
  };
  for (const { name, watches, runsPerSecond } of observers)
    add({
      from: `column:${watches}`,
      to: observerId(name),
      kind: "watches",
      observer: name,
      perSecond: runsPerSecond,
    });
  for (const { observer, table, column, does, perSecond } of flows) {
    const [here, there] = [columnId(table, familyOf(column)), observerId(observer)];
    if (does === "writes") add({ from: there, to: here, kind: "writes", observer, perSecond });
    else if (withReads) add({ from: here, to: there, kind: "reads", observer, perSecond });
  }
  return [...edges.values()];
}

/** All cells of a family share the node of the family. */
const familyOf = (column: string) => column.split(":", 1)[0]!;

/** Every node that leads to a node or follows from it, and the node itself. */
export function connectedTo(edges: readonly GraphEdge[], id: string): ReadonlySet<string> {
  return new Set([...reached(edges, id, "from", "to"), ...reached(edges, id, "to", "from")]);
}

function reached(
  edges: readonly GraphEdge[],
  id: string,
  here: "from" | "to",
  there: "from" | "to",
): Set<string> {
  const found = new Set([id]);
  // The loop also visits ids that are added while it runs.
  for (const each of found) for (const edge of edges) if (edge[here] === each) found.add(edge[there]);
  return found;
}
