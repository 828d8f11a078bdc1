import type { NamedResult } from "./report.js";

const size = { width: 760, height: 460, left: 80, right: 150, top: 20, bottom: 50 };
const colours = ["#b3261e", "#b26a00", "#1b5e9b", "#2e7d32"];

/** Throughput by the number of workers, both in powers of ten, a line a name; dashed what the processors would allow. */
export function chartOf(results: readonly NamedResult[]): string {
  const most = Math.max(10, ...results.map(({ result }) => result.settings.workers));
  const highest = Math.max(10, ...results.map(({ result }) => result.ideal));
  const right = Math.ceil(Math.log10(most));
  const top = Math.ceil(Math.log10(highest));
  const x = (workers: number) => size.left + (Math.log10(workers) / right) * plotWidth;
  const y = (rate: number) => size.height - size.bottom - (Math.log10(Math.max(1, rate)) / top) * plotHeight;
  const names = [...new Set(results.map(({ name }) => name))];
  const parts = [
    ...decades(right).map(
      (at) => line(x(at), y(1), x(at), size.top) + label(x(at), y(1) + 18, "middle", power(at)),
    ),
    ...decades(top).map(
      (at) => line(x(1), y(at), x(10 ** right), y(at)) + label(x(1) - 8, y(at) + 4, "end", power(at)),
    ),
    label(size.left + plotWidth / 2, size.height - 10, "middle", "workers"),
    label(size.left, size.top - 6, "end", "runs/s"),
  ];
  const ideal = new Map(results.map(({ result }) => [result.settings.workers, result.ideal]));
  parts.push(
    path(
      [...ideal].sort(([a], [b]) => a - b).map(([n, rate]) => [x(n), y(rate)]),
      "#777",
      "6 4",
    ),
  );
  for (const [index, name] of names.entries()) {
    const colour = colours[index % colours.length]!;
    const points = results
      .filter((each) => each.name === name)
      .map(({ result }): [number, number] => [x(result.settings.workers), y(result.throughput)])
      .sort(([a], [b]) => a - b);
    parts.push(path(points, colour, ""));
    for (const [cx, cy] of points)
      parts.push(`<circle cx="${at(cx)}" cy="${at(cy)}" r="3" fill="${colour}"/>`);
    parts.push(label(size.width - size.right + 14, size.top + 30 + 20 * index, "start", name, colour));
  }
  parts.push(label(size.width - size.right + 14, size.top + 10, "start", "processors alone", "#777"));
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" ` +
    `font-size="12"><title>Throughput by the number of workers</title><rect width="100%" height="100%" fill="#fff"/>\n${parts.join("\n")}\n</svg>\n`
  );
}

const plotWidth = size.width - size.left - size.right;
const plotHeight = size.height - size.top - size.bottom;

function decades(most: number): number[] {
  return Array.from({ length: most + 1 }, (_, power) => 10 ** power);
}

function power(number: number): string {
  return new Intl.NumberFormat("en-US").format(number);
}

function at(place: number): string {
  return place.toFixed(1);
}

function line(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" stroke="#ddd"/>`;
}

function label(x: number, y: number, anchor: string, text: string, fill = "#333"): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" fill="${fill}">${text}</text>`;
}

function path(points: readonly (readonly [number, number])[], stroke: string, dashes: string): string {
  const d = points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${at(x)} ${at(y)}`).join(" ");
  const dash = dashes === "" ? "" : ` stroke-dasharray="${dashes}"`;
  return `<path d="${d}" fill="none" stroke="${stroke}" stroke-width="2"${dash}/>`;
}
