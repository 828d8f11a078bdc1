/** What all figures of the pages share. The colours apply if the surrounding page defines none. */

export const colours = {
  text: "var(--vp-c-text-1, #1f2328)",
  soft: "var(--vp-c-text-2, #57606a)",
  rule: "var(--vp-c-divider, #d0d7de)",
  ground: "var(--vp-c-bg, #ffffff)",
  brand: "var(--vp-c-brand-1, #0b5f70)",
  mark: "var(--vp-c-brand-soft, #e1f0f2)",
};

/** The width of every figure. */
export const width = 760;
export const margin = 14;
export const monospace = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
export const sans = "system-ui, sans-serif";

/** The whole SVG, with a title for readers who cannot see it. */
export function svg(title: string, height: number, font: string, body: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${font}" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="8" style="fill:${colours.ground}"/>`,
    ...body,
    "</svg>",
    "",
  ].join("\n");
}

export function text(x: number, y: number, content: string, fill: string, more = ""): string {
  return `<text x="${x}" y="${y}"${more} style="fill:${fill}">${escaped(content)}</text>`;
}

export function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
