import { type Link, layersOf, withoutCircles } from "./layers.js";
import { ordered } from "./order.js";

export interface Sized {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface Placed extends Sized {
  /** The left upper corner. */
  readonly x: number;
  readonly y: number;
  readonly layer: number;
}

export interface Routed extends Link {
  /** A path of SVG. */
  readonly path: string;
  /** Where a label may stand. */
  readonly middle: { readonly x: number; readonly y: number };
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, Placed>;
  /** In the order of the links that were given. */
  readonly links: readonly Routed[];
}

const layerGap = 44;
const nodeGap = 18;
/** What a link needs that passes a layer. */
const passHeight = 10;
const margin = 14;
const alignments = 10;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Places nodes in layers from left to right, so that links lead to the right where they can, and few of them cross. */
export function layout(nodes: readonly Sized[], links: readonly Link[]): Layout {
  const ids = nodes.map(({ id }) => id);
  const straight = withoutCircles(ids, links);
  const layerOf = layersOf(ids, straight);
  const { layers, steps, chains } = throughLayers(ids, layerOf, straight);
  const sizes = new Map(nodes.map((node) => [node.id, node]));
  const heightOf = (id: string) => sizes.get(id)?.height ?? passHeight;
  const order = ordered(layers, steps);
  const centres = alignedCentres(order, steps, heightOf);
  const columns = columnsOf(order, sizes);
  const placed = new Map<string, Placed>();
  for (const [layer, layerIds] of order.entries())
    for (const id of layerIds) {
      const node = sizes.get(id);
      if (node !== undefined)
        placed.set(id, { ...node, x: columns[layer]!.x, y: centres.get(id)! - node.height / 2, layer });
    }
  const pointOf = (id: string, layer: number): Point => ({ x: columns[layer]!.middle, y: centres.get(id)! });
  const routed = links.map((link) => route(link, placed, chains.get(keyOf(link)) ?? [], pointOf, layerOf));
  const last = columns.at(-1);
  const bottoms = [...placed.values()].map(({ y, height }) => y + height);
  const height = Math.max(0, ...bottoms, ...[...centres.values()]) + margin;
  return {
    width: last === undefined ? 0 : last.x + last.width + margin,
    height,
    nodes: placed,
    links: routed,
  };
}

const keyOf = ({ from, to }: Link) => `${from}\n${to}`;

/** Links that pass layers are led through a point in each of them. */
function throughLayers(
  ids: readonly string[],
  layerOf: ReadonlyMap<string, number>,
  links: readonly (Link & { isTurned: boolean })[],
) {
  const layers: string[][] = Array.from({ length: Math.max(-1, ...layerOf.values()) + 1 }, () => []);
  for (const id of ids) layers[layerOf.get(id)!]!.push(id);
  const steps: Link[] = [];
  const chains = new Map<string, { readonly id: string; readonly layer: number }[]>();
  for (const { from, to, isTurned } of links) {
    const chain: { id: string; layer: number }[] = [];
    let before = from;
    for (let layer = layerOf.get(from)! + 1; layer < layerOf.get(to)!; layer++) {
      const id = `${from}\n${to}\n${layer}`;
      layers[layer]!.push(id);
      chain.push({ id, layer });
      steps.push({ from: before, to: id });
      before = id;
    }
    steps.push({ from: before, to });
    chains.set(
      isTurned ? keyOf({ from: to, to: from }) : keyOf({ from, to }),
      isTurned ? chain.reverse() : chain,
    );
  }
  return { layers, steps, chains };
}

/** The middle of each node from above: near to its neighbours', without overlaps, in the given order. */
function alignedCentres(
  order: readonly (readonly string[])[],
  steps: readonly Link[],
  heightOf: (id: string) => number,
): ReadonlyMap<string, number> {
  const centres = new Map<string, number>();
  const beside = new Map<string, string[]>();
  for (const { from, to } of steps) {
    beside.set(from, [...(beside.get(from) ?? []), to]);
    beside.set(to, [...(beside.get(to) ?? []), from]);
  }
  for (const layer of order) spread(layer, () => 0, heightOf, centres);
  for (let pass = 0; pass < alignments; pass++)
    for (const layer of pass % 2 === 0 ? order : [...order].reverse()) {
      const wanted = (id: string) => {
        const near = beside.get(id) ?? [];
        if (near.length === 0) return centres.get(id)!;
        return near.reduce((sum, each) => sum + centres.get(each)!, 0) / near.length;
      };
      spread(layer, wanted, heightOf, centres);
    }
  const tops = [...centres].map(([id, centre]) => centre - heightOf(id) / 2);
  const shift = margin - Math.min(...tops, Number.POSITIVE_INFINITY);
  for (const [id, centre] of centres) centres.set(id, centre + shift);
  return centres;
}

/** Puts a layer's nodes where they are wanted, pushed apart where they would overlap. */
function spread(
  layer: readonly string[],
  wanted: (id: string) => number,
  heightOf: (id: string) => number,
  centres: Map<string, number>,
): void {
  const wishes = layer.map(wanted);
  const given: number[] = [];
  for (const [index, id] of layer.entries()) {
    const before = layer[index - 1];
    const least =
      before === undefined
        ? Number.NEGATIVE_INFINITY
        : given[index - 1]! + (heightOf(before) + heightOf(id)) / 2 + nodeGap;
    given.push(Math.max(wishes[index]!, least));
  }
  const drift =
    given.reduce((sum, each, index) => sum + each - wishes[index]!, 0) / Math.max(1, layer.length);
  for (const [index, id] of layer.entries()) centres.set(id, given[index]! - drift);
}

function columnsOf(order: readonly (readonly string[])[], sizes: ReadonlyMap<string, Sized>) {
  let x = margin;
  return order.map((layer) => {
    const width = Math.max(0, ...layer.map((id) => sizes.get(id)?.width ?? 0));
    const column = { x, width, middle: x + width / 2 };
    x += width + layerGap;
    return column;
  });
}

function route(
  link: Link,
  placed: ReadonlyMap<string, Placed>,
  chain: readonly { readonly id: string; readonly layer: number }[],
  pointOf: (id: string, layer: number) => Point,
  layerOf: ReadonlyMap<string, number>,
): Routed {
  const [from, to] = [placed.get(link.from)!, placed.get(link.to)!];
  const isBack = layerOf.get(link.from)! > layerOf.get(link.to)!;
  const side = (node: Placed, isRight: boolean): Point => ({
    x: isRight ? node.x + node.width : node.x,
    y: node.y + node.height / 2 + (isBack ? Math.min(10, node.height / 4) : 0),
  });
  const points = [side(from, !isBack), ...chain.map(({ id, layer }) => pointOf(id, layer)), side(to, isBack)];
  const half = Math.floor((points.length - 1) / 2);
  const [a, b] = [points[half]!, points[half + 1]!];
  return { ...link, path: curve(points), middle: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } };
}

/** A smooth line whose ends are level. */
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
