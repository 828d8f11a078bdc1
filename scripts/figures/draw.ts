import type { Line, Panel, Scene, ShownCell } from "./scene.js";
import { colours, escaped, margin, monospace, round, svg, text, width } from "./svg.js";

/*
 * Draws a scene: a table of the protocol's cells at each moment. New lines are marked, and removed
 * lines are struck out.
 */

const lineHeight = 19;
const letter = 7.25;
const noteLetters = 104;
const columns = ["row", "column", "write", "lock", "status"] as const;

/** How a line differs from the previous moment. */
type Change = "same" | "new" | "gone";

interface DrawnLine {
  readonly text: string;
  readonly change: Change;
}

/** Draws a scene as an SVG, with a title for readers who cannot see it. */
export function draw(scene: Scene, title: string): string {
  const numbers = numbering(scene.panels);
  const shown = (line: Line) =>
    line.map((part) => (typeof part === "number" ? numbers.get(part)! : part)).join("");
  const widths = columnWidths(scene.panels, shown);
  const body: string[] = [];
  let y = margin;
  for (const [index, panel] of scene.panels.entries()) {
    const drawn = drawPanel(panel, scene.panels[index - 1], index + 1, y, widths, shown, scene.withHints);
    body.push(...drawn.body);
    y = drawn.end + 22;
  }
  const height = y - 22 + margin;
  return svg(title, height, monospace, body);
}

/** Numbers timestamps in order, from 1, because only their order matters. */
function numbering(panels: readonly Panel[]): ReadonlyMap<number, string> {
  const lines = panels.flatMap((panel) => [
    ...panel.notes,
    ...panel.hints,
    ...panel.cells.flatMap(({ write, lock, status }) => [...write, ...lock, ...status]),
  ]);
  const all = lines.flat().filter((part) => typeof part === "number");
  return new Map(
    [...new Set(all)].sort((a, b) => a - b).map((timestamp, index) => [timestamp, String(index + 1)]),
  );
}

function columnWidths(panels: readonly Panel[], shown: (line: Line) => string): readonly number[] {
  const texts = columns.map((name) => [
    name,
    ...panels.flatMap(({ cells }) =>
      cells.flatMap((cell) => (name === "row" || name === "column" ? [cell[name]] : cell[name].map(shown))),
    ),
  ]);
  const needed = texts.map((all) => Math.max(...all.map((text) => text.length)) * letter + 18);
  const spare = width - 2 * margin - needed.reduce((sum, each) => sum + each, 0);
  if (spare < 0) throw new Error(`The figure is ${-spare} too wide: shorten what it shows.`);
  return needed.map((each) => each + spare / columns.length);
}

function drawPanel(
  panel: Panel,
  before: Panel | undefined,
  number: number,
  top: number,
  widths: readonly number[],
  shown: (line: Line) => string,
  withHints: boolean,
): { readonly body: readonly string[]; readonly end: number } {
  const body: string[] = [];
  let y = top + 14;
  body.push(
    `<text x="${margin}" y="${y}" font-family="system-ui, sans-serif" font-size="15" font-weight="600" style="fill:${colours.text}"><tspan style="fill:${colours.brand}">${number}</tspan>  ${escaped(panel.title)}</text>`,
  );
  for (const note of wrapped(panel.notes.map(shown).join(" "))) {
    y += lineHeight;
    body.push(
      `<text x="${margin}" y="${y}" font-family="system-ui, sans-serif" font-size="13" style="fill:${colours.soft}">${escaped(note)}</text>`,
    );
  }
  y += 12;
  const heads = columns.map((name, index) => text(left(widths, index), y + 14, name, colours.soft));
  body.push(...heads, rule(y + 20));
  y += 20;
  for (const cell of rowsOf(panel, before)) {
    const lists = columns.map((name) => linesOf(name, cell, shown));
    const lines = Math.max(1, ...lists.map((list) => list.length));
    for (const [index, list] of lists.entries()) {
      for (const [at, line] of list.entries()) {
        body.push(...drawLine(line, left(widths, index), y + 16 + at * lineHeight));
      }
    }
    y += lines * lineHeight + 6;
    body.push(rule(y));
  }
  if (withHints) {
    const hints = changes(before?.hints.map(shown), panel.hints.map(shown));
    body.push(text(margin + 6, y + 16, "hints", colours.soft));
    for (const [at, line] of hints.entries()) {
      body.push(...drawLine(line, left(widths, 1), y + 16 + at * lineHeight));
    }
    y += Math.max(1, hints.length) * lineHeight + 6;
    body.push(rule(y));
  }
  return { body, end: y };
}

/** Splits a text into lines that fit into a panel. */
function wrapped(content: string): readonly string[] {
  const lines: string[] = [];
  for (const word of content.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= noteLetters) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

interface Pair {
  readonly now: ShownCell | undefined;
  readonly before: ShownCell | undefined;
  /** Whether this is the first moment. Then nothing is marked as new. */
  readonly isFirst: boolean;
}

function rowsOf(panel: Panel, before: Panel | undefined): readonly Pair[] {
  const key = ({ row, column }: ShownCell) => `${row}\n${column}`;
  const now = new Map(panel.cells.map((cell) => [key(cell), cell]));
  const old = new Map((before?.cells ?? []).map((cell) => [key(cell), cell]));
  return [...new Set([...old.keys(), ...now.keys()])].map((each) => ({
    now: now.get(each),
    before: old.get(each),
    isFirst: before === undefined,
  }));
}

function linesOf(
  name: (typeof columns)[number],
  { now, before, isFirst }: Pair,
  shown: (line: Line) => string,
): readonly DrawnLine[] {
  if (name === "row" || name === "column") return [{ text: (now ?? before)![name], change: "same" }];
  return changes(isFirst ? undefined : (before?.[name] ?? []).map(shown), (now?.[name] ?? []).map(shown));
}

/** Merges the lines of both moments: the current ones, and the removed ones. */
function changes(before: readonly string[] | undefined, now: readonly string[]): readonly DrawnLine[] {
  const gone = (before ?? []).filter((line) => !now.includes(line));
  return [
    ...now.map(
      (line): DrawnLine => ({
        text: line,
        change: before === undefined || before.includes(line) ? "same" : "new",
      }),
    ),
    ...gone.map((line): DrawnLine => ({ text: line, change: "gone" })),
  ];
}

function drawLine({ text: shown, change }: DrawnLine, x: number, y: number): readonly string[] {
  if (change === "same") return [text(x, y, shown, colours.text)];
  if (change === "gone") return [text(x, y, shown, colours.soft, ' text-decoration="line-through"')];
  const mark = `<rect x="${round(x - 4)}" y="${y - 13}" width="${round(shown.length * letter + 8)}" height="18" rx="4" style="fill:${colours.mark}"/>`;
  return [mark, text(x, y, shown, colours.brand, ' font-weight="600"')];
}

function left(widths: readonly number[], index: number): number {
  return round(margin + 6 + widths.slice(0, index).reduce((sum, each) => sum + each, 0));
}

function rule(y: number): string {
  return `<path d="M${margin} ${y}H${width - margin}" style="stroke:${colours.rule}"/>`;
}
