import { escaped, line, mark, text, uprightText, widthOf } from "./svg.js";
import { fontSize, style, titleSize } from "./theme.js";

/** What every chart has: words about it, for those who see it and those who do not. */
export interface Words {
  readonly title: string;
  /** What the chart shows, in a sentence or two: read out, not drawn. */
  readonly description: string;
}

export interface LegendEntry {
  readonly name: string;
  readonly series: number;
  readonly dashed?: boolean | undefined;
  /** A square rather than a line with its mark. */
  readonly filled?: boolean | undefined;
}

/** Where a chart's plot is within its picture. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** All charts are as wide as the text beside them, so that their letters are as large. */
export const pictureWidth = 760;
const padding = 16;
const lineHeight = 22;

/** The title and the legend beneath it. */
export function heading(
  words: Words,
  legend: readonly LegendEntry[],
): { readonly parts: string[]; readonly height: number } {
  const parts = [text(padding, padding + titleSize, words.title, "start", "title")];
  let [x, y] = [padding, padding + titleSize + 26];
  for (const entry of legend) {
    const width = 44 + widthOf(entry.name, fontSize);
    if (x > padding && x + width > pictureWidth - padding) [x, y] = [padding, y + lineHeight];
    parts.push(...keyOf(entry, x, y - 5), text(x + 32, y, entry.name, "start"));
    x += width + 12;
  }
  return { parts, height: legend.length === 0 ? padding + titleSize + 18 : y + 18 };
}

function keyOf({ series, dashed, filled }: LegendEntry, x: number, y: number): string[] {
  if (filled === true)
    return [`<rect x="${x + 8}" y="${y - 6}" width="14" height="12" class="fill${series}"/>`];
  const stroke = line(x, y, x + 26, y, `line${series} key${dashed === true ? " dashed" : ""}`);
  return dashed === true ? [stroke] : [stroke, mark(x + 13, y, series)];
}

/** The names of both axes. */
export function axisNames(plot: Plot, across: string, up: string): string[] {
  return [
    text(plot.left + plot.width / 2, plot.top + plot.height + 44, across, "middle"),
    ...(up === "" ? [] : [uprightText(padding + 6, plot.top + plot.height / 2, up)]),
  ];
}

/** The whole picture. */
export function picture(words: Words, height: number, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${pictureWidth} ${height}" width="${pictureWidth}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escaped(words.title)}</title>`,
    `<desc id="desc">${escaped(words.description)}</desc>`,
    style,
    `<rect x="0.5" y="0.5" width="${pictureWidth - 1}" height="${height - 1}" rx="8" class="ground"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}
