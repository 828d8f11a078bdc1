import { type Scale, type ScaleKind, scaleOf, tickText } from "./scale.js";
import {
  area,
  box,
  escaped,
  line,
  mark,
  maxSeries,
  type Place,
  path,
  style,
  text,
  titleSize,
  uprightText,
  widthOf,
} from "./svg.js";

interface Chart {
  readonly title: string;
  /** What the chart shows, in one or two sentences. Screen readers read it. It is not drawn. */
  readonly description: string;
}

export interface Axis {
  readonly name: string;
  readonly kind?: ScaleKind | undefined;
  /** Formats values. By default as numbers. */
  readonly show?: ((value: number) => string) | undefined;
}

/** A value, with the range in which most measurements were. */
interface Spread {
  readonly low?: number | undefined;
  readonly high?: number | undefined;
}

export interface Point extends Spread {
  readonly x: number;
  readonly y: number;
}

export interface Line {
  readonly name: string;
  readonly points: readonly Point[];
  /** Determines colour and mark. By default the line's index. */
  readonly series?: number | undefined;
  readonly dashed?: boolean | undefined;
  /** Without marks at its points, for lines with many points. */
  readonly plain?: boolean | undefined;
}

export interface LineChart extends Chart {
  readonly across: Axis;
  readonly up: Axis;
  readonly lines: readonly Line[];
  /** Events at places of the horizontal axis. */
  readonly events?: readonly { readonly x: number; readonly name: string }[] | undefined;
  readonly height?: number | undefined;
}

export interface Bar extends Spread {
  readonly value: number;
  /** The text after the bar. By default the value. */
  readonly text?: string | undefined;
}

export interface BarGroup {
  readonly name: string;
  /** One for each series, in order. Undefined takes no space. */
  readonly bars: readonly (Bar | undefined)[];
  /** A target value: a dashed line across the group. */
  readonly bound?: number | undefined;
}

export interface BarChart extends Chart {
  readonly axis: string;
  /** A logarithmic axis has no zero, so it has marks instead of bars. */
  readonly kind?: ScaleKind | undefined;
  readonly series: readonly string[];
  readonly groups: readonly BarGroup[];
  /** What the dashed lines mean. */
  readonly boundName?: string | undefined;
}

/** The position of a chart's plot within its picture. */
interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** All charts are as wide as the page's text, so that their letters have the same size. */
const pictureWidth = 760;
const padding = 16;
const barHeight = 16;
const groupGap = 8;
/** The names of up to this many events are placed below each other. */
const eventRows = 4;

/** Lines over two axes, with bands for lines that have a spread. */
export function lineChart(chart: LineChart): string {
  const { across: xAxis, up: yAxis, events = [], height = 420 } = chart;
  const lines = chart.lines.map((each, index) => ({ ...each, series: (each.series ?? index) % maxSeries }));
  const points = lines.flatMap((each) => each.points);
  const xs = points.map(({ x }) => x);
  const ys = points.flatMap(({ y, low = y, high = y }) => [y, low, high]);
  const across = scaleOf(xAxis.kind ?? "linear", xs, true);
  const up = scaleOf(yAxis.kind ?? "linear", ys);
  const shownX = xAxis.show ?? tickText;
  const shownY = yAxis.show ?? tickText;
  const head = heading(chart, lines.length > 1 ? lines.map((each) => ({ ...each, filled: false })) : []);
  const left = 40 + Math.max(...up.ticks.map((tick) => widthOf(shownY(tick))));
  const plot: Plot = {
    left,
    top: head.height,
    width: pictureWidth - left - padding - widthOf(shownX(across.ticks.at(-1)!)) / 2,
    height: height - head.height - 60,
  };
  const [xOf, yOf] = [placeAcross(plot, across), (y: number) => plot.top + (1 - up.part(y)) * plot.height];
  const bottom = plot.top + plot.height;
  return picture(chart, height, [
    ...head.parts,
    ...up.ticks.flatMap((tick) => [
      line(plot.left, yOf(tick), plot.left + plot.width, yOf(tick), "grid"),
      text(plot.left - 8, yOf(tick) + 5, shownY(tick), "end"),
    ]),
    ...ticksAcross(plot, across, shownX),
    line(plot.left, bottom, plot.left + plot.width, bottom, "axis"),
    ...axisNames(plot, xAxis.name, yAxis.name),
    ...lines.flatMap((each) => {
      const band = each.points.filter(({ low, high }) => low !== undefined && high !== undefined);
      if (band.length < 2) return [];
      const below = band.map(({ x, low }): Place => [xOf(x), yOf(low!)]);
      const above = band.map(({ x, high }): Place => [xOf(x), yOf(high!)]).reverse();
      return [area([...below, ...above], `fill${each.series} band`)];
    }),
    ...events.flatMap(({ x, name }, index) => eventOf(plot, xOf(x), name, index)),
    ...lines.flatMap(({ points: all, series, dashed, plain }) => {
      const places = all.map(({ x, y }): Place => [xOf(x), yOf(y)]);
      const marks = plain === true || dashed === true ? [] : places.map(([x, y]) => mark(x, y, series));
      return [path(places, `line${series}${dashed === true ? " dashed" : ""}`), ...marks];
    }),
  ]);
}

/**
 * A name near the right edge is placed before its line. Each name is lower than the previous one.
 */
function eventOf(plot: Plot, place: number, name: string, index: number): string[] {
  const isLate = place + widthOf(name) > plot.left + plot.width;
  const y = plot.top + 16 + (index % eventRows) * 20;
  return [
    line(place, plot.top, place, plot.top + plot.height, "event"),
    text(place + (isLate ? -6 : 6), y, name, isLate ? "end" : "start", "eventwords"),
  ];
}

/** Groups of bars. The bars are horizontal, so that long names can be read. */
export function barChart(chart: BarChart): string {
  const { kind = "linear", groups, boundName } = chart;
  const scale = scaleOf(kind, groups.flatMap(valuesOf));
  const keys = chart.series.map((name, series) => ({
    name,
    series: series % maxSeries,
    filled: kind === "linear",
  }));
  const head = heading(chart, keys.length > 1 ? keys : []);
  const heights = groups.map(
    ({ bars }) => Math.max(22, bars.filter((bar) => bar !== undefined).length * barHeight) + groupGap,
  );
  const left = 24 + Math.max(...groups.map(({ name }) => widthOf(name)));
  const labels = groups.flatMap(({ bars }) => bars.map((bar) => (bar === undefined ? "" : labelOf(bar))));
  const plot: Plot = {
    left,
    top: head.height,
    width: pictureWidth - left - 24 - Math.max(...labels.map((label) => widthOf(label))),
    height: heights.reduce((sum, each) => sum + each, 0),
  };
  const hasBounds = boundName !== undefined && groups.some(({ bound }) => bound !== undefined);
  const parts = [
    ...head.parts,
    ...ticksAcross(plot, scale, tickText),
    ...axisNames(plot, hasBounds ? `${chart.axis}; dashed: ${boundName}` : chart.axis, ""),
  ];
  let top = plot.top;
  for (const [index, group] of groups.entries()) {
    const height = heights[index]!;
    parts.push(text(plot.left - 10, top + height / 2 + 5, group.name, "end"));
    parts.push(...drawGroup(group, plot, scale, kind, top + groupGap / 2, height - groupGap));
    top += height;
  }
  parts.push(line(plot.left, plot.top, plot.left, plot.top + plot.height, "axis"));
  return picture(chart, Math.ceil(plot.top + plot.height + 62), parts);
}

function drawGroup(
  { bars, bound }: BarGroup,
  plot: Plot,
  scale: Scale,
  kind: ScaleKind,
  top: number,
  height: number,
): string[] {
  const xOf = placeAcross(plot, scale);
  const drawn = bars.flatMap((bar, index) => (bar === undefined ? [] : [{ bar, series: index % maxSeries }]));
  const parts = drawn.flatMap(({ bar, series }, index) => {
    const y = top + (index + 0.5) * (height / drawn.length);
    const { value, low, high } = bar;
    const end = Math.max(value, high ?? value);
    return [
      kind === "linear"
        ? box(plot.left, y - 6, xOf(value) - plot.left, 12, `fill${series}`)
        : mark(xOf(value), y, series),
      ...(low === undefined || high === undefined ? [] : [line(xOf(low), y, xOf(high), y, "axis")]),
      text(xOf(end) + 8, y + 5, labelOf(bar), "start"),
    ];
  });
  if (bound !== undefined) parts.push(line(xOf(bound), top - 4, xOf(bound), top + height + 4, "bound"));
  return parts;
}

function labelOf(bar: Bar): string {
  return bar.text ?? tickText(bar.value);
}

function valuesOf({ bars, bound }: BarGroup): readonly number[] {
  const values = bars.flatMap((bar) =>
    bar === undefined ? [] : [bar.value, bar.low ?? bar.value, bar.high ?? bar.value],
  );
  return bound === undefined ? values : [...values, bound];
}

function placeAcross(plot: Plot, scale: Scale): (value: number) => number {
  return (value) => plot.left + scale.part(value) * plot.width;
}

function ticksAcross(plot: Plot, scale: Scale, show: (value: number) => string): string[] {
  const [xOf, bottom] = [placeAcross(plot, scale), plot.top + plot.height];
  return scale.ticks.flatMap((tick) => [
    line(xOf(tick), plot.top, xOf(tick), bottom, "grid"),
    text(xOf(tick), bottom + 20, show(tick), "middle"),
  ]);
}

function axisNames(plot: Plot, across: string, up: string): string[] {
  return [
    text(plot.left + plot.width / 2, plot.top + plot.height + 44, across, "middle"),
    ...(up === "" ? [] : [uprightText(padding + 6, plot.top + plot.height / 2, up)]),
  ];
}

interface Key {
  readonly name: string;
  readonly series: number;
  readonly dashed?: boolean | undefined;
  /** A square instead of a line with its mark. */
  readonly filled: boolean;
}

/** The title, and the legend beneath it. */
function heading(
  { title }: Chart,
  keys: readonly Key[],
): { readonly parts: string[]; readonly height: number } {
  const parts = [text(padding, padding + titleSize, title, "start", "title")];
  let [x, y] = [padding, padding + titleSize + 26];
  for (const key of keys) {
    const width = 44 + widthOf(key.name);
    if (x > padding && x + width > pictureWidth - padding) [x, y] = [padding, y + 22];
    parts.push(...drawKey(key, x, y - 5), text(x + 32, y, key.name, "start"));
    x += width + 12;
  }
  return { parts, height: keys.length === 0 ? padding + titleSize + 18 : y + 18 };
}

function drawKey({ series, dashed, filled }: Key, x: number, y: number): string[] {
  if (filled) return [box(x + 8, y - 6, 14, 12, `fill${series}`)];
  const stroke = line(x, y, x + 26, y, `line${series} key${dashed === true ? " dashed" : ""}`);
  return dashed === true ? [stroke] : [stroke, mark(x + 13, y, series)];
}

function picture({ title, description }: Chart, height: number, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${pictureWidth} ${height}" width="${pictureWidth}" height="${height}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="desc">${escaped(description)}</desc>`,
    style,
    `<rect x="0.5" y="0.5" width="${pictureWidth - 1}" height="${height - 1}" rx="8" class="ground"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}
