/**
 * Pieces of SVG as text, with the colours and fonts of all charts. Each chart has its own
 * background, light or dark as the reader's system prefers, so that it is readable on any page. The
 * colours are by Okabe and Ito, which colour-blind readers can tell apart. They are darker or
 * lighter to fit the background.
 */

export const fontSize = 14;
export const titleSize = 16;

const grounds = {
  light: {
    ground: "#ffffff",
    words: "#24292f",
    grid: "#d5dae0",
    mark: "#6a3d00",
    series: ["#0072b2", "#c44e00", "#00795a", "#a8437f", "#8a6100", "#4b4f56"],
  },
  dark: {
    ground: "#161b22",
    words: "#dfe5ec",
    grid: "#38404a",
    mark: "#ffd591",
    series: ["#56b4e9", "#f08a4b", "#2ec79b", "#e59ac6", "#e6b94d", "#b9bec6"],
  },
};

/** The number of series that a chart can show distinctly. */
export const maxSeries = grounds.light.series.length;

function colours({ ground, words, grid, mark, series }: typeof grounds.light): string {
  return [
    `.ground{fill:${ground};stroke:${grid}}.words,.title{fill:${words}}.grid{stroke:${grid}}`,
    `.axis{stroke:${words}}.event{stroke:${mark}}.eventwords{fill:${mark}}.bound{stroke:${words}}`,
    ...series.map((each, index) => `.line${index}{stroke:${each}}.fill${index}{fill:${each}}`),
  ].join("");
}

export const style = [
  "<style>",
  `text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;font-size:${fontSize}px}`,
  `.title{font-size:${titleSize}px;font-weight:600}`,
  "polyline{fill:none;stroke-width:2.5;stroke-linejoin:round}.key{stroke-width:2.5}.band{opacity:.18}.dashed{stroke-dasharray:7 5}",
  ".bound{stroke-width:1.5;stroke-dasharray:3 3}.event{stroke-width:1.5;stroke-dasharray:2 3}",
  colours(grounds.light),
  `@media (prefers-color-scheme:dark){${colours(grounds.dark)}}`,
  "</style>",
].join("");

/** Formats a coordinate. A tenth of a unit is not visible. */
function at(place: number): string {
  return String(Math.round(place * 10) / 10);
}

export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replaceAll(/[&<>"]/g, (character) => names[character]!);
}

export type Anchor = "start" | "middle" | "end";

export function text(x: number, y: number, words: string, anchor: Anchor, className = "words"): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" class="${className}">${escaped(words)}</text>`;
}

/** Text from bottom to top, centred. */
export function uprightText(x: number, y: number, words: string): string {
  return `<text transform="translate(${at(x)} ${at(y)}) rotate(-90)" text-anchor="middle" class="words">${escaped(words)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, className: string): string {
  return `<line x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}" class="${className}"/>`;
}

export function box(x: number, y: number, width: number, height: number, className: string): string {
  return `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" class="${className}"/>`;
}

export type Place = readonly [x: number, y: number];

const shape = (name: string, places: readonly Place[], className: string) =>
  `<${name} points="${places.map(([x, y]) => `${at(x)},${at(y)}`).join(" ")}" class="${className}"/>`;

export const path = (places: readonly Place[], className: string) => shape("polyline", places, className);
export const area = (places: readonly Place[], className: string) => shape("polygon", places, className);

/** A mark in one of four shapes, so that lines never differ by colour alone. */
export function mark(x: number, y: number, index: number): string {
  const className = `fill${index}`;
  const [top, left, right]: [Place, number, number] = [[x, y - 5], x - 5, x + 5];
  switch (index % 4) {
    case 0:
      return `<circle cx="${at(x)}" cy="${at(y)}" r="4" class="${className}"/>`;
    case 1:
      return box(x - 4, y - 4, 8, 8, className);
    case 2:
      return area([top, [right, y + 4], [left, y + 4]], className);
    default:
      return area([top, [right, y], [x, y + 5], [left, y]], className);
  }
}

/** Estimates the width of a text. No font is available when charts are drawn. */
export function widthOf(words: string, size: number = fontSize): number {
  return words.length * size * 0.56;
}
