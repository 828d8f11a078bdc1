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
import { box, line, mark, text, widthOf } from "./svg.js";
import { fontSize, maxSeries } from "./theme.js";

export interface Bar {
  readonly value: number;
  /** Where most measurements lay: drawn across the bar's end. */
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** What is written behind it; by default the value. */
  readonly text?: string | undefined;
}

export interface BarGroup {
  readonly name: string;
  /** One a series, in their order; undefined where there is none, which takes no room. */
  readonly bars: readonly (Bar | undefined)[];
  /** A value that is wanted or that others had: a dashed line across the group. */
  readonly bound?: number | undefined;
}

export interface BarChart extends Words {
  /** What the axis shows. */
  readonly axis: string;
  /** A logarithmic axis has no place to begin, so that it has marks rather than bars. */
  readonly kind?: ScaleKind | undefined;
  readonly show?: ((value: number) => string) | undefined;
  readonly series: readonly string[];
  readonly groups: readonly BarGroup[];
  /** What the dashed lines are. */
  readonly boundName?: string | undefined;
}

const barHeight = 16;
const groupGap = 8;

/** Draws groups of bars that lie, so that their names can be read. */
export function barChart(chart: BarChart): string {
  const show = chart.show ?? tickText;
  const kind = chart.kind ?? "linear";
  const scale = scaleOf(kind, chart.groups.flatMap(valuesOf));
  const legend = chart.series.map(
    (name, series): LegendEntry => ({ name, series: series % maxSeries, filled: kind === "linear" }),
  );
  const head = heading(chart, chart.series.length > 1 ? legend : []);
  const heights = chart.groups.map(heightOf);
  const left = 24 + Math.max(...chart.groups.map(({ name }) => widthOf(name, fontSize)));
  const right =
    24 + Math.max(...chart.groups.flatMap(({ bars }) => bars.map((bar) => labelWidth(bar, show))));
  const plot: Plot = {
    left,
    top: head.height,
    width: pictureWidth - left - right,
    height: heights.reduce((sum, each) => sum + each, 0),
  };
  const parts = [...head.parts, ...grid(plot, scale, show), ...axisNames(plot, axisText(chart), "")];
  let top = plot.top;
  for (const [index, group] of chart.groups.entries()) {
    const height = heights[index]!;
    parts.push(text(plot.left - 10, top + height / 2 + 5, group.name, "end"));
    parts.push(
      ...drawGroup(group, { plot, scale, kind, show, top: top + groupGap / 2, height: height - groupGap }),
    );
    top += height;
  }
  parts.push(line(plot.left, plot.top, plot.left, plot.top + plot.height, "axis"));
  return picture(chart, Math.ceil(plot.top + plot.height + 62), parts);
}

interface GroupPlace {
  readonly plot: Plot;
  readonly scale: Scale;
  readonly kind: ScaleKind;
  readonly show: (value: number) => string;
  readonly top: number;
  readonly height: number;
}

function drawGroup(group: BarGroup, place: GroupPlace): string[] {
  const { plot, scale, kind, show, top, height } = place;
  const x = (value: number) => plot.left + scale.part(value) * plot.width;
  const drawn = group.bars.flatMap((bar, index) =>
    bar === undefined ? [] : [{ bar, series: index % maxSeries }],
  );
  const each = height / drawn.length;
  const parts: string[] = [];
  for (const [index, { bar, series }] of drawn.entries()) {
    const y = top + (index + 0.5) * each;
    if (kind === "linear") parts.push(box(plot.left, y - 6, x(bar.value) - plot.left, 12, `fill${series}`));
    else parts.push(mark(x(bar.value), y, series));
    const end = Math.max(bar.value, bar.high ?? bar.value);
    if (bar.low !== undefined && bar.high !== undefined)
      parts.push(line(x(bar.low), y, x(bar.high), y, "axis"));
    parts.push(text(x(end) + 8, y + 5, bar.text ?? show(bar.value), "start"));
  }
  if (group.bound !== undefined)
    parts.push(line(x(group.bound), top - 4, x(group.bound), top + height + 4, "bound"));
  return parts;
}

function heightOf({ bars }: BarGroup): number {
  return Math.max(22, bars.filter((bar) => bar !== undefined).length * barHeight) + groupGap;
}

function grid(plot: Plot, scale: Scale, show: (value: number) => string): string[] {
  const bottom = plot.top + plot.height;
  return scale.ticks.flatMap((tick) => {
    const x = plot.left + scale.part(tick) * plot.width;
    return [line(x, plot.top, x, bottom, "grid"), text(x, bottom + 20, show(tick), "middle")];
  });
}

function axisText({ axis, boundName, groups }: BarChart): string {
  const hasBounds = groups.some(({ bound }) => bound !== undefined);
  return boundName !== undefined && hasBounds ? `${axis}; dashed: ${boundName}` : axis;
}

function labelWidth(bar: Bar | undefined, show: (value: number) => string): number {
  return bar === undefined ? 0 : widthOf(bar.text ?? show(bar.value), fontSize);
}

function valuesOf({ bars, bound }: BarGroup): readonly number[] {
  const values = bars.flatMap((bar) =>
    bar === undefined ? [] : [bar.value, bar.low ?? bar.value, bar.high ?? bar.value],
  );
  return bound === undefined ? values : [...values, bound];
}
