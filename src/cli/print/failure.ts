import { PercolatorError } from "../../errors/index.js";
import type { Cli } from "../cli.js";
import { UsageError } from "../usage-error.js";
import { exitCodeOf, exitCodes } from "./exit.js";
import { OutputError } from "./output.js";

/**
 * Prints an error on the error stream and returns the exit code. `runCli` calls it for any error
 * that a command throws.
 */
export async function reportFailure(cli: Cli, thrown: unknown): Promise<number> {
  // A lost output ends the command. The command may then throw something else, but the lost output
  // is the cause.
  const error = cli.signal.reason instanceof OutputError ? cli.signal.reason : thrown;
  if (cli.isEndless && error instanceof OutputError && error.isClosed) return outputExitCode(error);
  const { code, message } = describeFailure(error);
  try {
    if (cli.json) await cli.err.json({ error: { code, message } });
    else await cli.err.line(`error: ${message} (${code})`);
    if (code === "INTERNAL" && error instanceof Error && !cli.json) await cli.err.line(error.stack);
  } catch {
    // The error stream has no reader either. Only the exit code can report the failure.
  }
  return failureExitCode(cli, error);
}

/** The exit code for lost output. */
export function outputExitCode({ isClosed }: OutputError): number {
  return isClosed ? exitCodes.closed : exitCodes.output;
}

function failureExitCode(cli: Cli, error: unknown): number {
  if (error instanceof OutputError) return outputExitCode(error);
  if (cli.endSignal !== undefined && isOf(error, "ABORTED")) return exitCodeOf(cli.endSignal);
  return error instanceof UsageError || isOf(error, "INVALID_ARGUMENT") ? exitCodes.usage : exitCodes.data;
}

function isOf(error: unknown, code: string): boolean {
  return describeFailure(error).code === code;
}

/** The code and the message of an error, as they are printed. */
export function describeFailure(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof PercolatorError) return { code: error.code, message: error.message };
  if (error instanceof OutputError) return { code: "OUTPUT", message: error.message };
  if (isSystemError(error)) return { code: "SYSTEM", message: error.message };
  return { code: "INTERNAL", message: error instanceof Error ? error.message : String(error) };
}

/**
 * Whether the operating system refused a call, for example because the disk is full or a permission
 * is missing.
 */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string";
}
