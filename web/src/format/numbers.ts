/** Shown instead of a missing figure. */
export const none = "–";

/** A count with separated thousands: 12,304. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A count, with a plus if counting stopped at a bound. */
export function bounded({
  count: value,
  isBound,
}: {
  readonly count: number;
  readonly isBound: boolean;
}): string {
  return isBound ? `${count(value)}+` : count(value);
}

/** A count in a sentence: `1 change`, `3 changes`, `more than 1,000 changes`. */
export function moreThan(
  { count: value, isBound }: { readonly count: number; readonly isBound: boolean },
  one: string,
  many = `${one}s`,
): string {
  return isBound ? `more than ${count(value)} ${many}` : counted(value, one, many);
}

/** A rate per second, without the unit: 0.03, 4.2, 1,204. */
export function rate(value: number): string {
  if (value === 0) return "0";
  if (value < 0.01) return "<0.01";
  if (value < 1) return value.toFixed(2);
  return value < 100 ? value.toFixed(1) : count(value);
}

/** Milliseconds without the unit, always in the same unit, so that they can be compared: 0.44, 12.3, 1,204. */
export function milliseconds(value: number): string {
  if (value < 1) return value.toFixed(2);
  return value < 100 ? value.toFixed(1) : count(value);
}

const byteUnits = ["B", "KB", "MB", "GB", "TB"] as const;

/** A size in steps of a thousand: 812 B, 4.1 KB, 12 MB. */
export function bytes(value: number): string {
  let left = value;
  let unit = 0;
  while (left >= 1_000 && unit < byteUnits.length - 1) {
    left /= 1_000;
    unit++;
  }
  return `${unit > 0 && left < 10 ? left.toFixed(1) : Math.round(left)} ${byteUnits[unit]}`;
}

/** `one change`, `3 changes`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
