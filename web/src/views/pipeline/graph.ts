import type { ObserverOverview, Pipeline } from "../../../../src/dashboard/api/index.js";

/** A node of the graph: a column, the inner tables of a recipe, or an observer between these. */
export type GraphNode = ColumnNode | InternalNode | ObserverNode;

export interface ColumnNode {
  readonly id: string;
  readonly kind: "column";
  readonly table: string;
  readonly column: string;
  readonly of: ColumnKind;
  /** The attached SQL table that it comes from, if it comes from one. */
  readonly source: string | undefined;
}

/** All inner tables that a recipe keeps for a table, as one node. */
export interface InternalNode {
  readonly id: string;
  readonly kind: "internal";
  /** The table that programs read. Undefined for tables of the dashboard itself. */
  readonly owner: string | undefined;
  readonly columns: readonly { readonly table: string; readonly column: string }[];
}

export interface ObserverNode {
  readonly id: string;
  readonly kind: "observer";
  readonly observer: ObserverOverview;
}

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
  readonly apart: readonly ApartColumn[];
}

export interface ApartColumn {
  readonly table: string;
  readonly column: string;
  readonly isInternal: boolean;
}

/** What a graph shows besides the pipeline itself. */
export interface GraphOptions {
  /** Whether columns that observers only read have edges. */
  readonly withReads: boolean;
  /** Whether the columns of internal tables have nodes of their own. */
  readonly withInternal: boolean;
}

export const columnId = (table: string, column: string) => `column:${table}.${column}`;
export const observerId = (name: string) => `observer:${name}`;
export const internalId = (owner: string) => `internal:${owner}`;

/** The graph of a pipeline. */
export function graphOf({ tables, observers, flows }: Pipeline, options: GraphOptions): Graph {
  const nodeOf = options.withInternal ? columnNode : collapsing(tables);
  const edges = edgesOf(observers, flows, options.withReads, nodeOf);
  const touched = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const nodes: GraphNode[] = [];
  const apart: ApartColumn[] = [];
  const internal = new Map<string, InternalNode["columns"]>();
  for (const { name: table, columns, isInternal, owner, source } of tables)
    for (const { name: column, kind: of } of columns) {
      const id = nodeOf(table, column);
      if (!touched.has(id)) apart.push({ table, column, isInternal });
      else if (id === columnId(table, column)) nodes.push({ id, kind: "column", table, column, of, source });
      else {
        const inner = [...(internal.get(id) ?? []), { table, column }];
        internal.set(id, inner);
        if (inner.length === 1) nodes.push({ id, kind: "internal", owner, columns: [] });
      }
    }
  for (const observer of observers) {
    const id = observerId(observer.name);
    nodes.push({ id, kind: "observer", observer });
  }
  const ids = new Set(nodes.map(({ id }) => id));
  // Columns that are watched or were touched, but are not recorded yet.
  for (const id of touched) {
    if (ids.has(id) || !id.startsWith("column:")) continue;
    const [table = "", column = ""] = id.slice("column:".length).split(/\.(.*)/s);
    nodes.push({ id, kind: "column", table, column, of: "column", source: undefined });
    ids.add(id);
  }
  return {
    nodes: nodes.map((node) =>
      node.kind === "internal" ? { ...node, columns: internal.get(node.id)! } : node,
    ),
    edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)),
    apart,
  };
}

/** The id of the node that stands for a column. */
type NodeOf = (table: string, column: string) => string;

const columnNode: NodeOf = columnId;

/** Takes the inner tables of each recipe for one node. */
function collapsing(tables: Pipeline["tables"]): NodeOf {
  const owners = new Map(
    tables.filter(({ isInternal }) => isInternal).map(({ name, owner }) => [name, owner ?? ""]),
  );
  return (table, column) => {
    const owner = owners.get(table);
    return owner === undefined ? columnId(table, column) : internalId(owner);
  };
}

function edgesOf(
  observers: readonly ObserverOverview[],
  flows: Pipeline["flows"],
  withReads: boolean,
  nodeOf: NodeOf,
): readonly GraphEdge[] {
  const edges = new Map<string, GraphEdge>();
  const add = (edge: GraphEdge) => {
    const key = `${edge.from} ${edge.to}`;
    const before = edges.get(key);
    if (before === undefined) edges.set(key, edge);
    // Several columns of an internal node that one observer writes.
    else if (before.kind === edge.kind)
      edges.set(key, { ...before, perSecond: before.perSecond + edge.perSecond });
  };
  for (const { name, watches, runsPerSecond } of observers) {
    const [table = "", column = ""] = watches.split(/\.(.*)/s);
    add({
      from: nodeOf(table, column),
      to: observerId(name),
      kind: "watches",
      observer: name,
      perSecond: runsPerSecond,
    });
  }
  for (const { observer, table, column, does, perSecond } of flows) {
    const [here, there] = [nodeOf(table, familyOf(column)), observerId(observer)];
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
