/** Pieces of SVG as text. */

/** A number as it stands in an attribute: a tenth of a unit is less than anybody sees. */
export function at(place: number): string {
  return String(Math.round(place * 10) / 10);
}

export function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

export type Anchor = "start" | "middle" | "end";

export function text(x: number, y: number, words: string, anchor: Anchor, className = "words"): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" class="${className}">${escaped(words)}</text>`;
}

/** Words from bottom to top, around their middle. */
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

export function path(places: readonly Place[], className: string): string {
  const points = places.map(([x, y]) => `${at(x)},${at(y)}`);
  return `<polyline points="${points.join(" ")}" class="${className}"/>`;
}

export function area(places: readonly Place[], className: string): string {
  const points = places.map(([x, y]) => `${at(x)},${at(y)}`);
  return `<polygon points="${points.join(" ")}" class="${className}"/>`;
}

/** A mark of one of four shapes, so that colour is never all that tells two lines apart. */
export function mark(x: number, y: number, index: number): string {
  const className = `fill${index}`;
  const r = 4;
  switch (index % 4) {
    case 0:
      return `<circle cx="${at(x)}" cy="${at(y)}" r="${r}" class="${className}"/>`;
    case 1:
      return box(x - r, y - r, 2 * r, 2 * r, className);
    case 2:
      return area(
        [
          [x, y - r - 1],
          [x + r + 1, y + r],
          [x - r - 1, y + r],
        ],
        className,
      );
    default:
      return area(
        [
          [x, y - r - 1],
          [x + r + 1, y],
          [x, y + r + 1],
          [x - r - 1, y],
        ],
        className,
      );
  }
}

const letterWidth = 0.56;

/** About how wide some words are: no font is at hand where charts are drawn. */
export function widthOf(words: string, fontSize: number): number {
  return words.length * fontSize * letterWidth;
}
