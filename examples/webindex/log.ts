import type { Logger } from "percolatordb";

/**
 * On stderr, what an operator has to know: what failed, and what was given up on. Nothing of what
 * is ordinary.
 */
export const stderrLogger: Logger = { info: () => undefined, warn: tell, error: tell };

function tell(message: string, { error, ...details }: Readonly<Record<string, unknown>> = {}): void {
  const said = Object.entries(details).map(([name, value]) => `${name} ${String(value)}`);
  const why = error instanceof Error ? error.message : String(error);
  console.error([message, ...said].join(", ") + (error === undefined ? "" : `: ${why}`));
}
