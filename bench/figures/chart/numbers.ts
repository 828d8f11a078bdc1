/** A number on an axis: as short as it can be said. */
export function tickText(value: number, unit = ""): string {
  const shown = Math.abs(value) >= 1_000_000 ? `${trimmed(value / 1_000_000)} million` : grouped(value);
  return unit === "" ? shown : `${shown} ${unit}`;
}

/** A time on an axis, from milliseconds. */
export function timeText(ms: number): string {
  if (ms >= 1_000) return `${grouped(ms / 1_000)} s`;
  return `${grouped(ms)} ms`;
}

function grouped(value: number): string {
  return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 });
}

function trimmed(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en");
}
