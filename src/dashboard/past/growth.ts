import type { Count } from "../api/index.js";

/** How far back a growth looks, and the shortest time over which one is computed. */
const windowMs = 60_000;
const minMs = 4_000;
const maxPoints = 120;

interface Point {
  readonly at: number;
  readonly counts: ReadonlyMap<string, Count>;
}

/** How fast backlogs grow or shrink, from their counts of the last minute. */
export class Growth {
  #points: Point[] = [];

  add(at: number, counts: ReadonlyMap<string, Count>): void {
    const oldest = at - windowMs;
    this.#points = [...this.#points.filter((point) => point.at >= oldest && point.at < at), { at, counts }];
    if (this.#points.length > maxPoints) this.#points.shift();
  }

  /**
   * Changes a second: more than 0 if the backlog grows. Undefined if the counts are too few, or if
   * one of them stopped at a bound.
   */
  of(name: string): number | undefined {
    const points = this.#points.flatMap(({ at, counts }) => {
      const count = counts.get(name);
      return count === undefined ? [] : [{ at, count }];
    });
    const [first, last] = [points[0], points.at(-1)];
    if (first === undefined || last === undefined || last.at - first.at < minMs) return undefined;
    if (points.some(({ count }) => count.isBound)) return undefined;
    return slope(points.map(({ at, count }) => [(at - first.at) / 1_000, count.count]));
  }
}

/** The slope of the line that fits the points best. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (index: 0 | 1) => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let above = 0;
  let below = 0;
  for (const [x, y] of points) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  return below === 0 ? 0 : above / below;
}
