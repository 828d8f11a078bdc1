import { layout as dagreLayout, Graph } from "@dagrejs/dagre";

/** An edge between two nodes, by their ids. */
export interface Link {
  readonly from: string;
  readonly to: string;
}

export interface Sized {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface Placed extends Sized {
  /** The upper left corner. */
  readonly x: number;
  readonly y: number;
  /** Counted from the left. */
  readonly layer: number;
}

export interface Routed extends Link {
  /** An SVG path. */
  readonly path: string;
  /** Where a label fits. */
  readonly middle: Point;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, Placed>;
  /** In the order of the given links. */
  readonly links: readonly Routed[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Gaps in pixels, wide enough for a label on a link and for a line between two nodes. */
const gaps = { ranksep: 44, nodesep: 18, edgesep: 10, marginx: 14, marginy: 14 };

/**
 * Places nodes in layers from left to right. Most links lead to the right, and few of them cross.
 */
export function layout(nodes: readonly Sized[], links: readonly Link[]): Layout {
  if (nodes.length === 0) return { width: 0, height: 0, nodes: new Map(), links: [] };
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", ...gaps });
  // Dagre follows the links from the first nodes on, and reverses each link that closes a cycle.
  // Nodes that no link leads to come first, so that the reversed links are those that lead back.
  const targets = new Set(links.map(({ to }) => to));
  const isTarget = ({ id }: Sized) => Number(targets.has(id));
  for (const { id, width, height } of nodes.toSorted((a, b) => isTarget(a) - isTarget(b)))
    graph.setNode(id, { width, height });
  for (const [index, { from, to }] of links.entries()) graph.setEdge(from, to, {}, String(index));
  dagreLayout(graph);
  const pointOf = (id: string): Point => graph.node(id);
  const layers = [...new Set(nodes.map(({ id }) => pointOf(id).x))].sort((a, b) => a - b);
  const placed = new Map(
    nodes.map((node) => {
      const { x, y } = pointOf(node.id);
      const corner = { x: x - node.width / 2, y: y - node.height / 2 };
      return [node.id, { ...node, ...corner, layer: layers.indexOf(x) }] as const;
    }),
  );
  const routed = links.map((link, index) => {
    const { points }: { points: readonly Point[] } = graph.edge(link.from, link.to, String(index));
    return route(link, placed, points);
  });
  const { width, height }: { width: number; height: number } = graph.graph();
  return { width, height, nodes: placed, links: routed };
}

/** Routes a link from the side of one node through its points to the side of the other node. */
function route(link: Link, placed: ReadonlyMap<string, Placed>, points: readonly Point[]): Routed {
  const [from, to] = [placed.get(link.from)!, placed.get(link.to)!];
  const isBack = from.layer > to.layer;
  const side = (node: Placed, isRight: boolean): Point => ({
    x: isRight ? node.x + node.width : node.x,
    y: node.y + node.height / 2 + (isBack ? Math.min(10, node.height / 4) : 0),
  });
  // A link between neighbouring layers passes no node, so it needs no points in between.
  const between = Math.abs(from.layer - to.layer) === 1 ? [] : points.slice(1, -1);
  const way = [side(from, !isBack), ...between, side(to, isBack)];
  const half = Math.floor((way.length - 1) / 2);
  const [a, b] = [way[half]!, way[half + 1]!];
  return { ...link, path: curve(way), middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } };
}

/** A smooth line with level ends. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  let path = `M${round(first!.x)},${round(first!.y)}`;
  let before = first!;
  for (const point of rest) {
    const x = (before.x + point.x) / 2;
    path += `C${round(x)},${round(before.y)} ${round(x)},${round(point.y)} ${round(point.x)},${round(point.y)}`;
    before = point;
  }
  return path;
}

const round = (value: number) => Math.round(value * 10) / 10;
