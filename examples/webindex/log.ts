import type { Logger } from "percolatordb";

/**
 * Logs to stderr what an operator must know: failures, and cells that were parked. Logs no ordinary
 * events.
 */
export const stderrLogger: Logger = { info: () => undefined, warn: tell, error: tell };

function tell(message: string, { error, ...details }: Readonly<Record<string, unknown>> = {}): void {
  const said = Object.entries(details).map(([name, value]) => `${name} ${String(value)}`);
  const why = error instanceof Error ? error.message : String(error);
  console.error([message, ...said].join(", ") + (error === undefined ? "" : `: ${why}`));
}
