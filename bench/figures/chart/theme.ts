/**
 * Colours and letters of all charts. Each chart brings its own ground, so that it can be read on a page of either kind; which
 * of the two grounds is decided by what the reader's system prefers. The colours are those of Okabe and Ito, which the
 * colour-blind tell apart, darker or lighter where the ground asks for it.
 */

export const fontSize = 14;
export const titleSize = 16;
/** How many series a chart can tell apart. */
export const maxSeries = 6;

const onLight = ["#0072b2", "#c44e00", "#00795a", "#a8437f", "#8a6100", "#4b4f56"];
const onDark = ["#56b4e9", "#f08a4b", "#2ec79b", "#e59ac6", "#e6b94d", "#b9bec6"];

interface Ground {
  readonly ground: string;
  readonly words: string;
  readonly grid: string;
  readonly mark: string;
  readonly series: readonly string[];
}

const light: Ground = {
  ground: "#ffffff",
  words: "#24292f",
  grid: "#d5dae0",
  mark: "#6a3d00",
  series: onLight,
};
const dark: Ground = {
  ground: "#161b22",
  words: "#dfe5ec",
  grid: "#38404a",
  mark: "#ffd591",
  series: onDark,
};

function colours({ ground, words, grid, mark, series }: Ground): string {
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
  colours(light),
  `@media (prefers-color-scheme:dark){${colours(dark)}}`,
  "</style>",
].join("");
