/** Simulates clusters over a model of tablet servers. See `npm run scale -- --help`. */
import { writeFileSync } from "node:fs";
import { CommanderError } from "commander";
import { chartOf } from "./chart.js";
import { parseOptions, type ScaleOptions } from "./options.js";
import { lineOf, type NamedResult, tableOf } from "./report.js";
import { simulateScale } from "./simulate.js";
import { type Study, studies } from "./studies.js";

function main(options: ScaleOptions): void {
  const all: Record<string, readonly NamedResult[]> = {};
  for (const study of studies) {
    if (!options.study.includes(study.name)) continue;
    const results = run(study, options);
    all[study.name] = results;
    console.log(`\n${tableOf(results)}\n`);
    if (study.name === "scale" && options.svg !== undefined) writeFileSync(options.svg, chartOf(results));
  }
  if (options.json !== undefined) {
    writeFileSync(options.json, `${JSON.stringify({ seed: options.seed, studies: all }, undefined, 1)}\n`);
  }
}

function run(study: Study, { seed, workers, design }: ScaleOptions): readonly NamedResult[] {
  console.log(`${study.name}: ${study.about}`);
  return study.runs({ seed, workers, designs: design }).map(({ name, settings }) => {
    const named = { name, result: simulateScale(settings) };
    console.error(lineOf(named));
    return named;
  });
}

try {
  main(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
