/** An edge between two nodes, by their ids. */
export interface Link {
  readonly from: string;
  readonly to: string;
}

/** The links of which those that close a circle are turned round: what is left has no circle. */
export function withoutCircles(
  ids: readonly string[],
  links: readonly Link[],
): readonly (Link & { isTurned: boolean })[] {
  const out = new Map<string, Link[]>(ids.map((id) => [id, []]));
  for (const link of links) out.get(link.from)!.push(link);
  const state = new Map<string, "open" | "done">();
  const turned = new Set<Link>();
  const visit = (id: string) => {
    state.set(id, "open");
    for (const link of out.get(id)!) {
      if (state.get(link.to) === "open") turned.add(link);
      else if (!state.has(link.to)) visit(link.to);
    }
    state.set(id, "done");
  };
  // From what nothing leads to, so that circles are cut where they come back.
  const sources = ids.filter((id) => !links.some(({ from, to }) => to === id && from !== id));
  for (const id of [...sources, ...ids]) if (!state.has(id)) visit(id);
  return links
    .filter(({ from, to }) => from !== to)
    .map((link) =>
      turned.has(link) ? { from: link.to, to: link.from, isTurned: true } : { ...link, isTurned: false },
    );
}

/** The layer of each node: one more than the highest that leads to it, sources as near to what they lead to as they can be. */
export function layersOf(ids: readonly string[], links: readonly Link[]): ReadonlyMap<string, number> {
  const layers = new Map<string, number>(ids.map((id) => [id, 0]));
  // Each pass settles at least one layer more.
  for (let pass = 0; pass < ids.length; pass++) {
    let hasChanged = false;
    for (const { from, to } of links) {
      const least = layers.get(from)! + 1;
      if (layers.get(to)! >= least) continue;
      layers.set(to, least);
      hasChanged = true;
    }
    if (!hasChanged) break;
  }
  for (const id of ids) {
    if (links.some(({ to }) => to === id)) continue;
    const next = links.filter(({ from }) => from === id).map(({ to }) => layers.get(to)!);
    if (next.length > 0) layers.set(id, Math.min(...next) - 1);
  }
  return layers;
}
