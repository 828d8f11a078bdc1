import { Command, InvalidArgumentError } from "commander";

/** The exit code for wrong usage. */
const wrongUsage = 2;

/**
 * The command line of a script of package.json. With `--help` it prints what it does and its options; wrong
 * arguments are named. Both end the process.
 */
export function commandOf(script: string, about: string): Command {
  return new Command(`npm run ${script} --`)
    .description(about)
    .allowExcessArguments(false)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : wrongUsage));
}

/** Reads an option that is a whole number. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): (given: string) => number {
  return (given) => {
    const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(
      most === Number.MAX_SAFE_INTEGER
        ? `It must be a whole number, ${least} or more.`
        : `It must be a whole number from ${least} to ${most}.`,
    );
  };
}
