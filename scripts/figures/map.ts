import { colours, margin, round, sans, svg, text, width } from "./svg.js";

/** A box of a {@link Chart}. */
export interface Box {
  /** Its column and row, from 0. */
  readonly at: readonly [column: number, row: number];
  readonly name: string;
  /** Lines below the name. */
  readonly lines: readonly string[];
  /** `stored` is in the database, `program` runs, and `outside` is not ours. */
  readonly kind: "stored" | "program" | "outside";
}

/** An arrow from one box to another in the same row or column. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label?: string;
}

/** Boxes in columns and rows, with arrows: how something flows. */
export interface Chart {
  readonly title: string;
  readonly columns: number;
  readonly boxes: Readonly<Record<string, Box>>;
  readonly arrows: readonly Arrow[];
}

const boxHeight = 74;
const gap = { across: 52, down: 46 };
/** Width of a letter of 12 units, at most. */
const letter = 6.1;

/** Draws a chart. Throws if a text does not fit. */
export function drawChart({ title, columns, boxes, arrows }: Chart): string {
  const boxWidth = (width - 2 * margin - (columns - 1) * gap.across) / columns;
  const rows = 1 + Math.max(...Object.values(boxes).map(({ at }) => at[1]));
  const height = 2 * margin + rows * boxHeight + (rows - 1) * gap.down;
  const place = ({ at: [column, row] }: Box) => ({
    x: margin + column * (boxWidth + gap.across),
    y: margin + row * (boxHeight + gap.down),
  });
  const body: string[] = [
    `<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:${colours.soft}"/></marker></defs>`,
  ];
  for (const box of Object.values(boxes)) {
    const { x, y } = place(box);
    for (const line of [box.name, ...box.lines])
      if (line.length * letter > boxWidth - 16) throw new Error(`"${line}" is too wide for its box.`);
    if (box.lines.length > 2) throw new Error(`"${box.name}" has more than two lines.`);
    const looks = {
      stored: `fill:${colours.mark};stroke:${colours.brand}`,
      program: `fill:${colours.ground};stroke:${colours.brand}`,
      outside: `fill:${colours.ground};stroke:${colours.soft};stroke-dasharray:4 3`,
    };
    body.push(
      `<rect x="${round(x)}" y="${y}" width="${round(boxWidth)}" height="${boxHeight}" rx="6" style="${looks[box.kind]}"/>`,
      text(round(x + 8), y + 22, box.name, colours.text, ' font-weight="600"'),
      ...box.lines.map((line, index) => text(round(x + 8), y + 42 + 17 * index, line, colours.soft)),
    );
  }
  for (const { from, to, label } of arrows) {
    const [a, b] = [boxes[from]!, boxes[to]!];
    const [start, end] = [place(a), place(b)];
    const right = Math.sign(b.at[0] - a.at[0]);
    const down = Math.sign(b.at[1] - a.at[1]);
    const side = (x: number, way: number) => round(x + (way > 0 ? boxWidth : way < 0 ? 0 : boxWidth / 2));
    const edge = (y: number, way: number) => y + (way > 0 ? boxHeight : way < 0 ? 0 : boxHeight / 2);
    if ((right === 0) === (down === 0)) throw new Error(`"${from}" and "${to}" are not in one line.`);
    const path = `M${side(start.x, right)} ${edge(start.y, down)}L${side(end.x, -right)} ${edge(end.y, -down)}`;
    body.push(`<path d="${path}" fill="none" marker-end="url(#arrow)" style="stroke:${colours.soft}"/>`);
    if (label === undefined) continue;
    if (down === 0) {
      const middle = round((side(start.x, right) + side(end.x, -right)) / 2);
      body.push(text(middle, edge(start.y, 0) - 7, label, colours.soft, ' text-anchor="middle"'));
    } else {
      const middle = (edge(start.y, down) + edge(end.y, -down)) / 2;
      body.push(text(round(side(start.x, 0) + 8), round(middle + 4), label, colours.soft));
    }
  }
  return svg(title, height, sans, body);
}
