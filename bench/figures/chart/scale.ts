export type ScaleKind = "linear" | "log";

const wantedSteps = 5;

/** From values to places along an axis. */
export interface Scale {
  readonly kind: ScaleKind;
  readonly least: number;
  readonly most: number;
  /** The part of the axis before a value, 0 at the least and 1 at the most; values beyond them are on the edge. */
  part(value: number): number;
  readonly ticks: readonly number[];
}

/** An axis that has all values, from 0 on, and ends at a tick, or at the last value where it is tight. */
export function linearScale(values: readonly number[], isTight = false): Scale {
  const highest = Math.max(0, ...finite(values)) || 1;
  const step = niceStep(highest / wantedSteps);
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  const most = isTight ? highest : clean(count * step);
  const ticks = Array.from({ length: count + 1 }, (_, index) => clean(index * step)).filter(
    (tick) => tick <= most,
  );
  return { kind: "linear", least: 0, most, ticks, part: (value) => within(value / most) };
}

/** An axis in powers of ten that has all values above 0, and begins and ends at a tick: 1, 2 or 5 times a power where it is short. */
export function logScale(values: readonly number[]): Scale {
  const positive = finite(values).filter((value) => value > 0);
  const [lowest, highest] = positive.length === 0 ? [1, 10] : [Math.min(...positive), Math.max(...positive)];
  const isShort = Math.log10(highest / lowest) < 1.5;
  const factors = isShort ? [1, 2, 5] : [1];
  const all = steps(lowest, highest, factors);
  const first = all.findLastIndex((step) => step <= lowest * (1 + 1e-9));
  let last = all.findIndex((step) => step >= highest * (1 - 1e-9));
  if (last <= first) last = first + 1;
  const ticks = all.slice(first, last + 1);
  const [least, most] = [ticks[0]!, ticks.at(-1)!];
  const length = Math.log10(most / least);
  const part = (value: number) => (value > 0 ? within(Math.log10(value / least) / length) : 0);
  return { kind: "log", least, most, ticks: thinned(ticks), part };
}

export function scaleOf(kind: ScaleKind, values: readonly number[], isTight = false): Scale {
  return kind === "log" ? logScale(values) : linearScale(values, isTight);
}

/** 1, 2 or 5 times a power of ten, at least as much. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return clean((([1, 2, 5] as const).find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10) * power);
}

function steps(lowest: number, highest: number, factors: readonly number[]): readonly number[] {
  const found: number[] = [];
  const end = Math.ceil(Math.log10(highest)) + 1;
  for (let power = Math.floor(Math.log10(lowest)); power <= end; power++)
    for (const factor of factors) found.push(clean(factor * 10 ** power));
  return found;
}

/** Every second or third of many, the ends among them where that is possible. */
function thinned(ticks: readonly number[]): readonly number[] {
  const every = Math.ceil(ticks.length / 9);
  return ticks.filter((_, index) => index % every === 0);
}

function finite(values: readonly number[]): readonly number[] {
  return values.filter(Number.isFinite);
}

function within(part: number): number {
  return Math.min(1, Math.max(0, part));
}

/** Without what binary fractions add. */
function clean(value: number): number {
  return Number(value.toPrecision(12));
}
