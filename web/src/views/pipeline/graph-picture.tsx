import { useMemo, useRef, useState } from "preact/hooks";
import { bounded } from "../../format/numbers.js";
import { isModified } from "../../parts/keys.js";
import { hashOf, type State } from "../../routing/route.js";
import { connectedTo, type Graph, type GraphEdge, type GraphNode } from "./graph.js";
import { type Layout, layout, type Placed, type Routed } from "./layout.js";
import { NodePicture, sizeOf } from "./node-picture.js";

/** The smallest readable scale. In a narrower window the picture scrolls. */
const minScale = 0.8;

interface Props {
  readonly graph: Graph;
  readonly selected: string | undefined;
  /** What links within the view keep. */
  readonly kept: State;
  /** Whether the whole graph is shown, at any scale. */
  readonly isFit: boolean;
}

/** The graph. Its layout changes only if nodes or edges come or go. */
export function GraphPicture({ graph, selected, kept, isFit }: Props) {
  const shape =
    graph.nodes.map(({ id }) => id).join("\n") +
    graph.edges.map(({ from, to }) => `${from}>${to}`).join("\n");
  const places = useMemo(() => placesOf(graph), [shape]);
  const lit = useMemo(
    () => (selected === undefined ? undefined : connectedTo(graph.edges, selected)),
    [shape, selected],
  );
  const [active, setActive] = useState<string>();
  const picture = useRef<SVGSVGElement>(null);
  const first = graph.nodes.find(({ id }) => id === (active ?? selected))?.id ?? graph.nodes[0]?.id;
  const onKeyDown = (event: KeyboardEvent) => {
    if (isModified(event)) return;
    const from = (event.target as Element).closest<SVGElement>("[data-node]")?.dataset.node;
    const to = from === undefined ? undefined : neighbour(event.key, from, places, graph);
    if (to === undefined) return;
    event.preventDefault();
    setActive(to);
    const target = [...picture.current!.querySelectorAll<SVGElement>("[data-node]")].find(
      ({ dataset }) => dataset.node === to,
    );
    target?.focus();
  };
  return (
    <div class="graph-scroll">
      <svg
        ref={picture}
        class="graph"
        style={{ minWidth: isFit ? "0" : `${places.width * minScale}px`, maxWidth: `${places.width}px` }}
        viewBox={`0 0 ${places.width} ${places.height}`}
        role="group"
        aria-label="Graph of columns and observers. Arrow keys go along its edges."
        onKeyDown={onKeyDown}
      >
        <Arrowheads />
        {graph.edges.map((edge, index) => {
          const isDim = lit !== undefined && !(lit.has(edge.from) && lit.has(edge.to));
          return (
            <Edge
              key={`${edge.from}>${edge.to}`}
              edge={edge}
              routed={places.links[index]!}
              isDim={isDim}
              graph={graph}
            />
          );
        })}
        {graph.nodes.map((node) => {
          const place = places.nodes.get(node.id)!;
          const href = hashOf("pipeline", { ...kept, node: node.id === selected ? undefined : node.id });
          return (
            <NodePicture
              key={node.id}
              node={node}
              place={place}
              href={href}
              isSelected={node.id === selected}
              isDim={lit !== undefined && !lit.has(node.id)}
              isFirst={node.id === first}
              onFocus={() => setActive(node.id)}
            />
          );
        })}
      </svg>
    </div>
  );
}

function placesOf({ nodes, edges }: Graph): Layout {
  const sized = nodes.map((node) => ({ id: node.id, ...sizeOf(node) }));
  return layout(sized, edges);
}

function Arrowheads() {
  return (
    <defs>
      {(["watches", "writes", "reads"] as const).map((kind) => (
        <marker
          key={kind}
          id={`arrow-${kind}`}
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path class={`arrow ${kind}`} d="M0,0L8,4L0,8Z" />
        </marker>
      ))}
    </defs>
  );
}

/** Thickness of an edge: the logarithm of waiting changes, or of writes per second. */
function thickness({ kind, perSecond }: GraphEdge, pending: number): number {
  if (kind === "reads") return 1.2;
  return Math.min(10, 1.5 + 1.7 * Math.log10(1 + (kind === "watches" ? pending : perSecond)));
}

function Edge({
  edge,
  routed,
  isDim,
  graph,
}: {
  edge: GraphEdge;
  routed: Routed;
  isDim: boolean;
  graph: Graph;
}) {
  const pending = pendingOf(graph.nodes, edge);
  return (
    <g class={isDim ? "dim" : ""}>
      <path
        class={`edge ${edge.kind}`}
        d={routed.path}
        stroke-width={thickness(edge, pending?.count ?? 0)}
        marker-end={`url(#arrow-${edge.kind})`}
      />
      {pending === undefined || pending.count === 0 ? null : (
        <text class="edge-label" x={routed.middle.x} y={routed.middle.y - 8}>
          {bounded(pending)}
        </text>
      )}
    </g>
  );
}

function pendingOf(nodes: readonly GraphNode[], edge: GraphEdge) {
  if (edge.kind !== "watches") return undefined;
  const node = nodes.find(({ id }) => id === edge.to);
  return node?.kind === "observer" ? node.observer.pending : undefined;
}

/**
 * The node that an arrow key selects: left and right follow edges, up and down stay in the layer.
 */
function neighbour(key: string, from: string, places: Layout, graph: Graph): string | undefined {
  const here = places.nodes.get(from)!;
  const all = [...places.nodes.values()];
  if (key === "Home" || key === "End") return graph.nodes.at(key === "Home" ? 0 : -1)?.id;
  if (key === "ArrowUp" || key === "ArrowDown") {
    const isUp = key === "ArrowUp";
    const layer = all.filter(({ layer, y }) => layer === here.layer && (isUp ? y < here.y : y > here.y));
    return nearest(layer, here)?.id;
  }
  if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
  const isRight = key === "ArrowRight";
  const side = (node: Placed) => (isRight ? node.layer > here.layer : node.layer < here.layer);
  const along = graph.edges
    .filter((edge) => edge.from === from || edge.to === from)
    .map((edge) => places.nodes.get(edge.from === from ? edge.to : edge.from)!)
    .filter(side);
  return (nearest(along, here) ?? nearest(all.filter(side), here))?.id;
}

function nearest(nodes: readonly Placed[], { x, y }: Placed): Placed | undefined {
  const far = (node: Placed) => Math.abs(node.x - x) * 4 + Math.abs(node.y - y);
  return [...nodes].sort((a, b) => far(a) - far(b))[0];
}
