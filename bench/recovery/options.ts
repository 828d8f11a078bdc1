import { Command, InvalidArgumentError } from "commander";

export interface RecoveryOptions {
  readonly workers: number;
  /** Runs of each worker at a time. */
  readonly concurrency: number;
  /** Milliseconds that each run waits for something else than the database: workers are then what there is too little of. */
  readonly work: number;
  /** Seconds before the kill, until the replacement, and after it. */
  readonly phase: number;
  readonly svg: string | undefined;
  readonly json: string | undefined;
}

const exitCodes =
  "\nThe exit code is 1 where a change was lost or handled twice, a check finds a problem or a worker fails, 2 for wrong usage, else 0.";

export function parseOptions(args: readonly string[]): RecoveryOptions {
  const command = new Command("recovery")
    .description(
      "Kills a third of the workers under load, replaces them, and tells the throughput over time. No change may be lost.",
    )
    .option("--workers <number>", "worker processes", whole, 6)
    .option("--concurrency <number>", "runs of each at a time", whole, 2)
    .option("--work <ms>", "how long each run waits for something else", whole, 300)
    .option("--phase <seconds>", "before the kill, until the replacement, and after it", whole, 20)
    .option("--svg <file>", "where to draw the throughput")
    .option("--json <file>", "where to write the figures")
    .addHelpText("after", exitCodes)
    .exitOverride();
  command.parse([...args], { from: "user" });
  const options = command.opts<Omit<RecoveryOptions, "svg" | "json"> & Partial<RecoveryOptions>>();
  return { ...options, svg: options.svg, json: options.json };
}

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}
