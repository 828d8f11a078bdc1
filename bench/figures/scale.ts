export type ScaleKind = "linear" | "log";

/** Maps values to positions on an axis. */
export interface Scale {
  readonly ticks: readonly number[];
  /** The share of the axis before a value, from 0 to 1. Values beyond the ends are on the edge. */
  part(value: number): number;
}

/**
 * Returns an axis for all values. A tight linear axis ends at the highest value, every other axis
 * at a tick.
 */
export function scaleOf(kind: ScaleKind, values: readonly number[], isTight = false): Scale {
  const finite = values.filter(Number.isFinite);
  return kind === "log" ? logScale(finite.filter((value) => value > 0)) : linearScale(finite, isTight);
}

/** A scale from 0, with about five ticks. */
function linearScale(values: readonly number[], isTight: boolean): Scale {
  const highest = Math.max(0, ...values) || 1;
  const power = 10 ** Math.floor(Math.log10(highest / 5));
  const factor = [1, 2, 5].find((each) => each * power >= (highest / 5) * (1 - 1e-9)) ?? 10;
  const step = clean(factor * power);
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  const max = isTight ? highest : clean(count * step);
  const ticks = Array.from({ length: count + 1 }, (_, index) => clean(index * step));
  return { ticks: ticks.filter((tick) => tick <= max), part: (value) => within(value / max) };
}

/**
 * A scale from one power of ten to another. A short axis may also begin or end at 2 or 5 times a
 * power.
 */
function logScale(values: readonly number[]): Scale {
  const [lowest, highest] = values.length === 0 ? [1, 10] : [Math.min(...values), Math.max(...values)];
  const factors = Math.log10(highest / lowest) < 1.5 ? [1, 2, 5] : [1];
  const powers = { first: Math.floor(Math.log10(lowest)), last: Math.ceil(Math.log10(highest)) + 1 };
  const all = Array.from(
    { length: powers.last - powers.first + 1 },
    (_, index) => powers.first + index,
  ).flatMap((power) => factors.map((factor) => clean(factor * 10 ** power)));
  const first = all.findLastIndex((step) => step <= lowest * (1 + 1e-9));
  const last = Math.max(
    first + 1,
    all.findIndex((step) => step >= highest * (1 - 1e-9)),
  );
  const ticks = all.slice(first, last + 1);
  const [min, max] = [ticks[0]!, ticks.at(-1)!];
  const every = Math.ceil(ticks.length / 9);
  return {
    ticks: ticks.filter((_, index) => index % every === 0),
    part: (value) => (value > 0 ? within(Math.log10(value / min) / Math.log10(max / min)) : 0),
  };
}

function within(part: number): number {
  return Math.min(1, Math.max(0, part));
}

/** Removes the rounding errors of binary fractions. */
function clean(value: number): number {
  return Number(value.toPrecision(12));
}

/** Formats a number for an axis, as short as possible. */
export function tickText(value: number): string {
  const [shown, digits, unit] = Math.abs(value) >= 1e6 ? [value / 1e6, 3, " million"] : [value, 6, ""];
  return `${Number(shown.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 })}${unit}`;
}

/** Formats a time in milliseconds for an axis. */
export function timeText(ms: number): string {
  return ms >= 1_000 ? `${tickText(ms / 1_000)} s` : `${tickText(ms)} ms`;
}
