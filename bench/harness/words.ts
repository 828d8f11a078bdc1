/** Formats numbers and tables in Markdown. */

export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** Formats a number with a reasonable number of digits. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3;
  return value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
}

export function ratio(value: number): string {
  return value.toFixed(2);
}

export function percent(part: number): string {
  return `${(100 * part).toFixed(part < 0.1 && part > 0 ? 1 : 0)} %`;
}

/** Formats milliseconds, as seconds if there are many. */
export function duration(ms: number): string {
  return ms >= 1_000 ? `${short(ms / 1_000)} s` : `${short(ms)} ms`;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function range({ low, high }: Spread, show: (value: number) => string): string {
  return `${show(low)} to ${show(high)}`;
}

/** Formats whether a bound is met, with the bound. */
export function verdict(isMet: boolean, bound: string): string {
  return `${bound}: ${isMet ? "met" : "**missed**"}`;
}

export type Column = string | { readonly name: string; readonly right: true };

/** A column of numbers. */
export function right(name: string): Column {
  return { name, right: true };
}

export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const names = columns.map((column) => (typeof column === "string" ? column : column.name));
  const rules = columns.map((column) => (typeof column === "string" ? "---" : "---:"));
  return [line(names), line(rules), ...rows.map(line)].join("\n");
}
