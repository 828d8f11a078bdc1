import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Layout, layout } from "../../web/src/views/pipeline/layout.js";

const size = { width: 100, height: 40 };
const nodes = (ids: readonly string[]) => ids.map((id) => ({ id, ...size }));
const links = (...pairs: readonly string[]) => pairs.map((pair) => ({ from: pair[0]!, to: pair[1]! }));

const someGraph = fc.integer({ min: 0, max: 14 }).chain((count) => {
  const ids = Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));
  const link =
    count === 0 ? fc.constant(undefined) : fc.tuple(fc.constantFrom(...ids), fc.constantFrom(...ids));
  return fc.array(link, { maxLength: 30 }).map((pairs) => ({
    ids,
    links: pairs.flatMap((pair) => (pair ? [{ from: pair[0], to: pair[1] }] : [])),
  }));
});

function overlapping({ nodes: placed }: Layout): number {
  const all = [...placed.values()];
  return all.filter((a, index) =>
    all.slice(index + 1).some((b) => Math.abs(a.x - b.x) < size.width && Math.abs(a.y - b.y) < size.height),
  ).length;
}

describe("the layout of the graph", () => {
  test("draws a chain from left to right, on one line", () => {
    const { nodes: placed } = layout(nodes(["a", "b", "c"]), links("ab", "bc"));
    const [a, b, c] = ["a", "b", "c"].map((id) => placed.get(id)!);
    expect([a!.x < b!.x, b!.x < c!.x]).toEqual([true, true]);
    expect(new Set([a!.y, b!.y, c!.y]).size).toBe(1);
  });

  test("breaks a cycle at the edge that closes it", () => {
    const { nodes: placed, links: routed } = layout(nodes(["a", "b", "c"]), links("ab", "bc", "cb"));
    const [a, b, c] = ["a", "b", "c"].map((id) => placed.get(id)!);
    expect([a!.layer, b!.layer, c!.layer]).toEqual([0, 1, 2]);
    const startOf = (path: string) => Number(/^M(-?[\d.]+),/.exec(path)![1]);
    expect(routed.map(({ path }) => startOf(path))).toEqual([a!.x + 100, b!.x + 100, c!.x]);
  });

  test("places sources next to their targets", () => {
    const { nodes: placed } = layout(nodes(["a", "b", "c", "d"]), links("ab", "bc", "dc"));
    expect(["a", "b", "c", "d"].map((id) => placed.get(id)!.layer)).toEqual([0, 1, 2, 1]);
  });

  test("avoids unnecessary crossings", () => {
    const { nodes: placed } = layout(nodes(["a", "b", "c", "d"]), links("ad", "bc"));
    const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => placed.get(id)!.y);
    expect(a! < b!).toBe(d! < c!);
  });

  test("of any graph has no overlaps, stays within its size, and has a path for each link", () => {
    fc.assert(
      fc.property(someGraph, ({ ids, links: given }) => {
        const result = layout(nodes(ids), given);
        expect(overlapping(result)).toBe(0);
        expect(result.links).toHaveLength(given.length);
        for (const { path } of result.links) expect(path).not.toMatch(/NaN|Infinity/);
        for (const { x, y } of result.nodes.values()) {
          expect(x >= 0 && y >= 0).toBe(true);
          expect(x + size.width <= result.width && y + size.height <= result.height).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});
