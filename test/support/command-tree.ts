import type { Command } from "commander";
import { Cli } from "../../src/cli/cli.js";
import { buildProgram } from "../../src/cli/program.js";
import { systemEnvironment } from "../../src/environment/index.js";
import { Printed } from "./command-line.js";

/** The command line's commands and options, of a program that is not run. */
export function commandTree(): Command {
  const io = {
    stdin: process.stdin,
    stdout: new Printed(),
    stderr: new Printed(),
    cwd: ".",
    environment: systemEnvironment,
    onSignal: () => () => {},
  };
  return buildProgram(new Cli(io));
}
