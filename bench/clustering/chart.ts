import { batchDelay, type Measured } from "./report.js";

const size = { width: 760, height: 420, left: 80, right: 170, top: 40, bottom: 55 };
const plot = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom };
const colours = ["#1b5e9b", "#2e7d32", "#8e4585", "#b26a00"];

/** Median delay against the rate of the crawl, both logarithmic; a line for each repository, and a dashed one for its batch. */
export function drawClustering(measured: readonly Measured[]): string {
  const rates = measured.flatMap((each) => each.rates.map(({ percent }) => percent));
  const delays = measured.flatMap((each) => [
    ...each.rates.flatMap(({ p50 }) => [p50]),
    batchDelay(each.batchMs, 0.5),
  ]);
  const across = scale(Math.min(...rates), Math.max(...rates), size.left, plot.width);
  const up = scale(Math.min(...delays), Math.max(...delays), size.top + plot.height, -plot.height);
  const parts: string[] = [text(size.left, 20, "start", "Delay of a document, by the rate of the crawl")];
  for (const tick of powers(rates)) {
    parts.push(line(across(tick), size.top, across(tick), size.top + plot.height, "#ddd"));
    parts.push(text(across(tick), size.height - 32, "middle", `${tick} %`));
  }
  for (const tick of powers(delays)) {
    parts.push(line(size.left, up(tick), size.left + plot.width, up(tick), "#ddd"));
    parts.push(text(size.left - 8, up(tick) + 4, "end", tick >= 1_000 ? `${tick / 1_000} s` : `${tick} ms`));
  }
  parts.push(
    text(size.left + plot.width / 2, size.height - 12, "middle", "of the repository crawled in an hour"),
  );
  for (const [index, each] of measured.entries()) {
    const colour = colours[index % colours.length]!;
    const points = each.rates.map(
      ({ percent, p50 }) => `${across(percent).toFixed(1)},${up(p50).toFixed(1)}`,
    );
    parts.push(`<polyline points="${points.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    const batch = up(batchDelay(each.batchMs, 0.5));
    parts.push(line(size.left, batch, size.left + plot.width, batch, colour, "6 4"));
    const at = size.left + plot.width + 8;
    parts.push(text(at, batch + 4, "start", `batch, ${each.documents.toLocaleString("en")}`, colour));
    const last = each.rates.at(-1)!;
    parts.push(
      text(at, up(last.p50) + 4, "start", `as they come, ${each.documents.toLocaleString("en")}`, colour),
    );
  }
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" ` +
    `font-size="12"><title>Delay of a document, by the rate of the crawl</title><rect width="100%" height="100%" fill="#fff"/>\n${parts.join("\n")}\n</svg>\n`
  );
}

function scale(least: number, most: number, from: number, length: number): (value: number) => number {
  const [low, high] = [Math.log10(least), Math.log10(most)];
  return (value) => from + ((Math.log10(value) - low) / Math.max(high - low, 1e-9)) * length;
}

/** The powers of ten within. */
function powers(values: readonly number[]): readonly number[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const found: number[] = [];
  for (let power = Math.ceil(Math.log10(least)); 10 ** power <= most * 1.000_1; power++) {
    found.push(Number((10 ** power).toPrecision(1)));
  }
  return found;
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string, dash?: string): string {
  const dashes = dash === undefined ? "" : ` stroke-dasharray="${dash}"`;
  return `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${stroke}"${dashes}/>`;
}

function text(x: number, y: number, anchor: string, words: string, fill = "#333"): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${fill}">${words}</text>`;
}
