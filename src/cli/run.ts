import { CommanderError } from "commander";
import { Cli } from "./cli.js";
import { exitCodeOf, exitCodes } from "./print/exit.js";
import { outputExitCode, reportFailure } from "./print/failure.js";
import type { Io } from "./print/io.js";
import type { OutputError } from "./print/output.js";
import { buildProgram } from "./program.js";
import { UsageError } from "./usage-error.js";

/**
 * Runs one command line and returns its exit code after all output is printed. `args` does not
 * include the program's name. The first signal asks the command to end. After a second signal the
 * function returns at once, even if work is still in progress.
 */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  const cli = new Cli(io);
  const { second, unlisten } = listen(cli);
  try {
    return await Promise.race([runCommand(cli, args), second]);
  } finally {
    unlisten();
    cli.release();
  }
}

function listen(cli: Cli): { readonly second: Promise<number>; readonly unlisten: () => void } {
  let unlisten = () => {};
  const second = new Promise<number>((resolve) => {
    unlisten = cli.io.onSignal((signal) => {
      if (cli.endSignal === undefined) cli.end(signal);
      else resolve(exitCodeOf(signal));
    });
  });
  return { second, unlisten };
}

async function runCommand(cli: Cli, args: readonly string[]): Promise<number> {
  let code: number;
  try {
    code = await answer(cli, args);
    await cli.out.flush();
  } catch (error) {
    code = await reportFailure(cli, error);
  }
  try {
    await cli.err.flush();
  } catch (error) {
    // If the command failed already, its own exit code says more than the lost output.
    if (code === exitCodes.ok) return outputExitCode(error as OutputError);
  }
  return code;
}

async function answer(cli: Cli, args: readonly string[]): Promise<number> {
  // Commander can report an error before it has parsed `--json`, so this line looks for the option
  // itself.
  cli.json = saysJson(args);
  const program = buildProgram(cli);
  try {
    await program.parseAsync([...args], { from: "user" });
    return cli.exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.ok;
    // Without a command, Commander has printed the help.
    if (error.code === "commander.help") return exitCodes.usage;
    throw usageError(error);
  }
}

function saysJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).includes("--json");
}

function usageError(error: CommanderError): UsageError {
  const message = error.message
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ")
    .trim();
  return new UsageError(`${message}${/[.?)]$/.test(message) ? "" : "."} See percolator --help.`);
}
