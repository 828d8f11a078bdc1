import type { Link } from "./layers.js";

/** How often the layers are gone through, back and forth. */
const sweeps = 12;

/** Orders the nodes within layers so that few links cross. Links lead from a layer to the next one. */
export function ordered(
  layers: readonly (readonly string[])[],
  links: readonly Link[],
): readonly (readonly string[])[] {
  let best = layers;
  let fewest = crossings(best, links);
  let current = layers.map((layer) => [...layer]);
  for (let sweep = 0; sweep < sweeps && fewest > 0; sweep++) {
    const isForth = sweep % 2 === 0;
    const indexes = [...current.keys()];
    for (const index of isForth ? indexes.slice(1) : indexes.reverse().slice(1))
      sortByNeighbours(current[index]!, current[isForth ? index - 1 : index + 1]!, links, isForth);
    const count = crossings(current, links);
    if (count < fewest) [best, fewest] = [current.map((layer) => [...layer]), count];
    current = current.map((layer) => [...layer]);
  }
  return best;
}

function sortByNeighbours(
  layer: string[],
  beside: readonly string[],
  links: readonly Link[],
  isForth: boolean,
): void {
  const place = new Map(beside.map((id, index) => [id, index]));
  const key = new Map(
    layer.map((id, index) => {
      const places = links
        .filter(({ from, to }) => (isForth ? to : from) === id)
        .map(({ from, to }) => place.get(isForth ? from : to))
        .filter((each) => each !== undefined);
      const sum = places.reduce((total, each) => total + each, 0);
      return [id, places.length === 0 ? index : sum / places.length] as const;
    }),
  );
  layer.sort((a, b) => key.get(a)! - key.get(b)!);
}

/** Pairs of links between the same two layers that cross. */
export function crossings(layers: readonly (readonly string[])[], links: readonly Link[]): number {
  const place = new Map(
    layers.flatMap((layer, at) => layer.map((id, index) => [id, { at, index }] as const)),
  );
  let count = 0;
  for (const [index, a] of links.entries())
    for (const b of links.slice(index + 1)) {
      const [aFrom, aTo, bFrom, bTo] = [a.from, a.to, b.from, b.to].map((id) => place.get(id)!);
      if (aFrom!.at !== bFrom!.at) continue;
      if ((aFrom!.index - bFrom!.index) * (aTo!.index - bTo!.index) < 0) count++;
    }
  return count;
}
