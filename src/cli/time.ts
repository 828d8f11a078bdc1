import { UsageError } from "./usage-error.js";

const units: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/**
 * Parses a duration to milliseconds: `500`, `500ms`, `30s`, `5m`, `1h`, `2d`. Throws a `UsageError`
 * for other text.
 */
export function parseDuration(text: string): number {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  const milliseconds = found === null ? Number.NaN : Number(found[1]) * units.get(found[2] ?? "")!;
  if (Number.isSafeInteger(Math.round(milliseconds))) return Math.round(milliseconds);
  throw new UsageError(
    `${JSON.stringify(text)} is not a duration: use milliseconds, or a number with ms, s, m, h or d, such as 30s.`,
  );
}

/** Formats milliseconds for people, in the two largest units: `5m 3s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 0) return `-${formatDuration(-milliseconds)}`;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)}ms`;
  const seconds = Math.floor(milliseconds / 1_000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h ${Math.floor(seconds / 60) % 60}m`;
  return `${Math.floor(seconds / 86_400)}d ${Math.floor(seconds / 3_600) % 24}h`;
}

const isoDate = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Parses a past moment: a timestamp (microseconds since 1970), or a date in ISO 8601. */
export function parseMoment(text: string): number | Date {
  if (/^\d+$/.test(text)) {
    const timestamp = Number(text);
    if (Number.isSafeInteger(timestamp)) return timestamp;
  } else if (isoDate.test(text)) {
    const date = new Date(text);
    const day = text.slice(0, 10);
    // `Date` reads 30 February as 2 March.
    if (!Number.isNaN(date.getTime()) && new Date(day).toISOString().startsWith(day)) return date;
  }
  throw new UsageError(
    `${JSON.stringify(text)} is neither a timestamp (microseconds since 1970) nor a date such as 2025-01-31 or ` +
      "2025-01-31T12:00:00Z.",
  );
}

/** Returns a parser of whole numbers that are at least `least`. */
export function parseCount(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new UsageError(`${JSON.stringify(text)} is not a whole number of at least ${least}.`);
  };
}

/** Formats a timestamp as an ISO date, for people and programs. Returns the empty string for 0. */
export function showTimestamp(timestamp: number): string {
  if (timestamp === 0) return "";
  const milliseconds = Math.floor(timestamp / 1_000);
  return Number.isFinite(milliseconds) && milliseconds <= 8.64e15 ? new Date(milliseconds).toISOString() : "";
}
