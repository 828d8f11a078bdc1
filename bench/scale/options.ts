import { Command, InvalidArgumentError } from "commander";
import { designs } from "./settings.js";
import { studies } from "./studies.js";

export interface ScaleOptions {
  readonly study: readonly string[];
  readonly workers: readonly number[];
  readonly design: readonly string[];
  readonly seed: string;
  readonly svg: string | undefined;
  readonly json: string | undefined;
}

const defaultWorkers = "10,30,100,300,1000,3000,10000";

const examples = `
Studies:
${studies.map(({ name, about }) => `  ${name.padEnd(10)}${about}`).join("\n")}

Examples:
  $ npm run scale -- --workers 10,30,100
  $ npm run scale -- --study finding --study "hot rows"
  $ npm run scale -- --study scale --svg docs/scale.svg

The exit code is 2 for wrong usage, else 0.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(args: readonly string[]): ScaleOptions {
  const command = new Command("scale")
    .description("Simulates clusters of up to 10,000 workers over a model of tablet servers.")
    .option("--study <name>", "run this study only; may be repeated", oneOf(studies.map(({ name }) => name)))
    .option("--workers <list>", "numbers of workers", wholeNumbers, wholeNumbers(defaultWorkers))
    .option("--design <name>", "of this design only; may be repeated", oneOf(designs.map(({ name }) => name)))
    .option("--seed <text>", "decides all that is random", "1")
    .option("--svg <file>", "draw the throughput of the study `scale` here")
    .option("--json <file>", "write all results here")
    .addHelpText("after", examples)
    .allowExcessArguments(false)
    .exitOverride();
  const parsed = command.parse(args as string[], { from: "user" }).opts<Partial<ScaleOptions>>();
  return {
    study: parsed.study ?? studies.map(({ name }) => name),
    workers: parsed.workers!,
    design: parsed.design ?? designs.map(({ name }) => name),
    seed: parsed.seed!,
    svg: parsed.svg,
    json: parsed.json,
  };
}

function wholeNumbers(text: string): readonly number[] {
  return text.split(",").map((each) => {
    const number = Number(each);
    if (!Number.isInteger(number) || number < 1 || number > 100_000) {
      throw new InvalidArgumentError("Whole numbers from 1 to 100,000, with commas between them.");
    }
    return number;
  });
}

function oneOf(names: readonly string[]) {
  return (name: string, before: readonly string[] = []): readonly string[] => {
    if (!names.includes(name)) throw new InvalidArgumentError(`One of: ${names.join(", ")}.`);
    return [...before, name];
  };
}
