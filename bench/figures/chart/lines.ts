import {
  axisNames,
  heading,
  type LegendEntry,
  type Plot,
  picture,
  pictureWidth,
  type Words,
} from "./frame.js";
import { tickText } from "./numbers.js";
import { type Scale, type ScaleKind, scaleOf } from "./scale.js";
import { area, line, mark, type Place, path, text, widthOf } from "./svg.js";
import { fontSize, maxSeries } from "./theme.js";

export interface Point {
  readonly x: number;
  readonly y: number;
  /** The ends of a band around it. */
  readonly low?: number | undefined;
  readonly high?: number | undefined;
}

export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
  /** Which colour and mark it has; by default its place among the lines. Lines that belong together have the same. */
  readonly series?: number | undefined;
  readonly dashed?: boolean | undefined;
  /** No marks at its points: where there are many. */
  readonly plain?: boolean | undefined;
}

export interface Axis {
  readonly name: string;
  readonly kind?: ScaleKind | undefined;
  /** How values are said; by default as numbers. */
  readonly show?: ((value: number) => string) | undefined;
  /** Values that the axis is to reach, whether or not there are points. */
  readonly reach?: readonly number[] | undefined;
}

/** Something that happened at a place of the axis across. */
export interface Event {
  readonly x: number;
  readonly name: string;
}

export interface LineChart extends Words {
  readonly across: Axis;
  readonly up: Axis;
  readonly lines: readonly Line[];
  readonly events?: readonly Event[] | undefined;
  readonly height?: number | undefined;
}

/** So many names of events stand one below the other. */
const eventRows = 4;

/** Draws lines over two axes, with bands around them where they have any. */
export function lineChart(chart: LineChart): string {
  const height = chart.height ?? 420;
  const lines = chart.lines.map((each, index) => ({ ...each, series: (each.series ?? index) % maxSeries }));
  const acrossValues = [...lines.flatMap(xs), ...(chart.across.reach ?? [])];
  const across = scaleOf(chart.across.kind ?? "linear", acrossValues, true);
  const up = scaleOf(chart.up.kind ?? "linear", [...lines.flatMap(ys), ...(chart.up.reach ?? [])]);
  const legend = lines.map(({ name, series, dashed }): LegendEntry => ({ name, series, dashed }));
  const head = heading(chart, lines.length > 1 ? legend : []);
  const left = 40 + Math.max(...up.ticks.map((tick) => widthOf(shown(chart.up, tick), fontSize)));
  const plot: Plot = {
    left,
    top: head.height,
    width: pictureWidth - left - 16 - widthOf(shown(chart.across, across.ticks.at(-1)!), fontSize) / 2,
    height: height - head.height - 60,
  };
  const placed = (x: number, y: number): Place => [
    plot.left + across.part(x) * plot.width,
    plot.top + (1 - up.part(y)) * plot.height,
  ];
  return picture(chart, height, [
    ...head.parts,
    ...grid(chart, plot, across, up),
    ...axisNames(plot, chart.across.name, chart.up.name),
    ...lines.flatMap((each) => bandOf(each, placed)),
    ...(chart.events ?? []).flatMap((each, index) => eventOf(each, index, plot, across)),
    ...lines.flatMap((each) => drawLine(each, placed)),
  ]);
}

function drawLine(
  each: Line & { readonly series: number },
  placed: (x: number, y: number) => Place,
): string[] {
  const places = each.points.map(({ x, y }) => placed(x, y));
  const parts = [path(places, `line${each.series}${each.dashed === true ? " dashed" : ""}`)];
  if (each.plain !== true && each.dashed !== true)
    parts.push(...places.map(([x, y]) => mark(x, y, each.series)));
  return parts;
}

function bandOf(each: Line & { readonly series: number }, placed: (x: number, y: number) => Place): string[] {
  const points = each.points.filter(({ low, high }) => low !== undefined && high !== undefined);
  if (points.length < 2) return [];
  const below = points.map(({ x, low }) => placed(x, low!));
  const above = points.map(({ x, high }) => placed(x, high!)).reverse();
  return [area([...below, ...above], `fill${each.series} band`)];
}

/** Names of events near the right edge stand before their line; each stands lower than the one before, so that they do not meet. */
function eventOf({ x, name }: Event, index: number, plot: Plot, across: Scale): string[] {
  const place = plot.left + across.part(x) * plot.width;
  const isLate = place + widthOf(name, fontSize) > plot.left + plot.width;
  const y = plot.top + 16 + (index % eventRows) * 20;
  return [
    line(place, plot.top, place, plot.top + plot.height, "event"),
    text(place + (isLate ? -6 : 6), y, name, isLate ? "end" : "start", "eventwords"),
  ];
}

function grid(chart: LineChart, plot: Plot, across: Scale, up: Scale): string[] {
  const bottom = plot.top + plot.height;
  const parts: string[] = [];
  for (const tick of up.ticks) {
    const y = plot.top + (1 - up.part(tick)) * plot.height;
    parts.push(line(plot.left, y, plot.left + plot.width, y, "grid"));
    parts.push(text(plot.left - 8, y + 5, shown(chart.up, tick), "end"));
  }
  for (const tick of across.ticks) {
    const x = plot.left + across.part(tick) * plot.width;
    parts.push(line(x, plot.top, x, bottom, "grid"));
    parts.push(text(x, bottom + 20, shown(chart.across, tick), "middle"));
  }
  parts.push(line(plot.left, bottom, plot.left + plot.width, bottom, "axis"));
  return parts;
}

function shown({ show = tickText }: Axis, value: number): string {
  return show(value);
}

function xs({ points }: Line): readonly number[] {
  return points.map(({ x }) => x);
}

function ys({ points }: Line): readonly number[] {
  return points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]);
}
