import { PercolatorError } from "../errors/index.js";
import type { Cli } from "./cli.js";
import { exitCodeOf, exitCodes } from "./exit.js";
import { OutputClosed } from "./output.js";
import { UsageError } from "./usage-error.js";

/** Prints what went wrong, on the error stream; answers the exit code. */
export async function reportFailure(cli: Cli, error: unknown): Promise<number> {
  if (error instanceof OutputClosed || cli.signal.reason instanceof OutputClosed) return exitCodes.ok;
  const { code, message } = describeFailure(error);
  try {
    if (cli.json) await cli.err.json({ error: { code, message } });
    else await cli.err.line(`error: ${message} (${code})`);
    if (code === "INTERNAL" && error instanceof Error && !cli.json) await cli.err.line(error.stack);
  } catch {
    // Nobody reads the error stream either; the exit code says it.
  }
  return failureExitCode(cli, error);
}

function failureExitCode(cli: Cli, error: unknown): number {
  if (cli.endSignal !== undefined && isOf(error, "ABORTED")) return exitCodeOf(cli.endSignal);
  return error instanceof UsageError || isOf(error, "INVALID_ARGUMENT") ? exitCodes.usage : exitCodes.data;
}

function isOf(error: unknown, code: string): boolean {
  return describeFailure(error).code === code;
}

function describeFailure(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof PercolatorError) return { code: error.code, message: error.message };
  return { code: "INTERNAL", message: error instanceof Error ? error.message : String(error) };
}
